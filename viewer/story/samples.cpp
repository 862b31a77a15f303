// Which samples ranks read.
#include "viewer/story/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>

#include "viewer/story/batch_colours.h"
#include "viewer/timeline/labels.h"

namespace ddpscope::viewer {
namespace {

constexpr std::size_t kBefore = 3, kAfter = 4;  // samples beside that of the evidence: as many as colours
constexpr std::uint64_t kFarthest = 256;        // events
constexpr std::int64_t kLeastFocus = 200'000;   // ns

struct Read {
  std::string file;
  std::uint64_t offset = 0, end = 0;
};

struct Sample {
  std::string file;
  std::uint64_t offset = 0;

  bool operator==(const Sample&) const = default;
};

// Not of a file that is mapped, as workers map what they hand over; nor one that comes to the file's end.
std::optional<Read> read_at(const merged::Reader& reader, merged::EventPlace place) {
  if (reader.event(place).kind != merged::Kind::kFileRead) return std::nullopt;
  auto detail = reader.detail(place);
  bool moves = detail && detail->bytes > 0 && detail->call.find("read") != std::string::npos;
  if (!moves || detail->file.empty()) return std::nullopt;
  Read read{detail->file};
  for (const auto& [name, value] : detail->fields)
    if (name == "offset") std::from_chars(value.data(), value.data() + value.size(), read.offset);
  read.end = read.offset + detail->bytes;
  return read;
}

// A read that goes on where the one before it ended is of the same sample.
std::vector<Sample> after(const merged::Reader& reader, merged::EventPlace place) {
  std::vector<Sample> samples;
  Read before;
  std::uint64_t end = std::min(reader.tracks()[place.track].events, place.index + kFarthest);
  for (; place.index < end && samples.size() <= kAfter; ++place.index) {
    auto read = read_at(reader, place);
    if (!read) continue;
    if (read->file != before.file || read->offset != before.end)
      samples.push_back({read->file, read->offset});
    before = *read;
  }
  return samples;
}

// Latest first.
std::vector<Sample> before(const merged::Reader& reader, merged::EventPlace place) {
  std::vector<Sample> samples;
  std::optional<Read> later = read_at(reader, place);
  std::uint64_t least = place.index > kFarthest ? place.index - kFarthest : 0;
  while (later && place.index > least && samples.size() < kBefore) {
    --place.index;
    auto read = read_at(reader, place);
    if (!read) continue;
    if (!samples.empty() && read->file == later->file && read->end == later->offset)
      samples.back().offset = read->offset;
    else
      samples.push_back({read->file, read->offset});
    later = read;
  }
  return samples;
}

std::uint64_t number_of(const Sample& sample) {
  return std::hash<std::string>()(fmt::format("{}@{}", sample.file, sample.offset));
}

// Places are counted from the first shown, so that all lines have as many samples before the evidence's.
void add(Story& story, FileLine& line, const Sample& sample, std::size_t places) {
  std::int64_t margin = story.focus.length() / 3;  // that is in view at both sides
  std::int64_t part = (story.focus.length() + 2 * margin) / static_cast<std::int64_t>(places);
  std::int64_t begin = story.focus.from_ns - margin + part * std::ssize(line.accesses);
  line.accesses.push_back({begin, begin + part, merged::Kind::kFileRead, false, number_of(sample)});
  std::string name(base_name(sample.file));
  if (sample.offset > 0) name += fmt::format(" @{}", sample.offset);
  story.sample_names.emplace(number_of(sample), std::move(name));
}

}  // namespace

void tell_samples(const merged::Reader& reader, Story& story) {
  std::vector<std::vector<Sample>> earlier, later;
  std::set<std::uint32_t> rows;
  for (const StoryDisc& disc : story.discs) {
    if (rows.size() == kMostBatchLines || disc.place == merged::kNoEvent) continue;
    std::vector<Sample> own = after(reader, disc.place);
    if (own.empty() || !rows.insert(disc.rank_row).second) continue;
    story.lines.push_back({disc.rank_row, {}, false, true});
    earlier.push_back(before(reader, disc.place));
    later.push_back(std::move(own));
  }
  if (story.lines.size() < 2) return story.lines.clear();
  std::size_t most = kBefore;
  for (const auto& samples : earlier) most = std::min(most, samples.size());
  std::int64_t wider = std::max(story.focus.length(), kLeastFocus) / 2;
  story.focus = {story.focus.from_ns - wider, story.focus.to_ns + wider};
  for (std::size_t i = 0; i < story.lines.size(); ++i) {
    std::size_t places = most + 1 + kAfter;
    for (std::size_t k = most; k-- > 0;) add(story, story.lines[i], earlier[i][k], places);
    for (const Sample& sample : later[i]) add(story, story.lines[i], sample, places);
  }
  story.lane = StoryLane::kBatches;
  number_contents(story.lines);
}

}  // namespace ddpscope::viewer
