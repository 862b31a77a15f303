// The rows of the lanes.
#include "viewer/lanes/row_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ddpscope::viewer {
namespace {

using merged::Reader;
using merged::Track;
using merged::TrackKind;

constexpr float kPad = 6, kGap = 3;
constexpr float kHostHeight = 24, kDeviceHeight = 16, kStripHeight = 9;
constexpr float kDensePad = 3, kDenseHost = 17, kDenseDevice = 13, kDenseStrip = 6;  // texts still fit
constexpr float kFoldedHost = 14, kFoldedDevice = 7;
constexpr std::size_t kMostThreads = 3, kMostStreams = 4, kMostRangeDepths = 4;

// Where a track's events go: calls and file accesses of one thread never overlap and share a line.
struct Line {
  PartKind kind;
  std::uint32_t process;
  std::uint64_t lane;
  std::uint16_t depth;
  auto operator<=>(const Line&) const = default;
};

bool is_calls(TrackKind kind) { return kind == TrackKind::kHost || kind == TrackKind::kFiles; }
bool is_workers(TrackKind kind) { return kind == TrackKind::kWorker || kind == TrackKind::kWorkerFiles; }

struct Lines {
  std::vector<RowPart> threads, streams, workers, ranges;
};

std::uint64_t events_of(const Reader& reader, const RowPart& part) {
  std::uint64_t events = 0;
  for (std::uint32_t track : part.tracks) events += reader.tracks()[track].events;
  return events;
}

bool is_marked(const Reader& reader, const RowPart& part) {
  return std::any_of(part.tracks.begin(), part.tracks.end(),
                     [&](std::uint32_t track) { return !reader.marks_of(track).empty(); });
}

// The busiest lines, those of evidence first; in their own order.
void keep_most(const Reader& reader, std::vector<RowPart>& parts, std::size_t most) {
  if (parts.size() <= most) return;
  std::vector<std::size_t> order(parts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    bool one = is_marked(reader, parts[a]), other = is_marked(reader, parts[b]);
    return one != other ? one : events_of(reader, parts[a]) > events_of(reader, parts[b]);
  });
  order.resize(most);
  std::sort(order.begin(), order.end());
  std::vector<RowPart> kept;
  for (std::size_t i : order) kept.push_back(std::move(parts[i]));
  parts = std::move(kept);
}

// Threads beside the main one have a line if they do what findings are about.
bool matters(const Reader& reader, const RowPart& part) {
  for (std::uint32_t track : part.tracks) {
    if (!reader.marks_of(track).empty()) return true;
    for (const merged::NameCount& on : reader.names_on(track)) {
      const merged::Name& name = reader.names()[on.name];
      bool collective = name.kind == merged::Kind::kCollective || name.kind == merged::Kind::kBarrier;
      if (collective && !name.text.starts_with("ncclComm"))
        return true;  // making and ending communicators is none
    }
  }
  return false;
}

void keep_what_matters(const Reader& reader, std::vector<RowPart>& threads) {
  if (threads.empty()) return;
  threads.erase(std::remove_if(threads.begin() + 1, threads.end(),
                               [&](const RowPart& part) { return !matters(reader, part); }),
                threads.end());
}

// Of a worker its file accesses, where it has any: what else it does is waiting.
void keep_file_accesses(const Reader& reader, std::vector<RowPart>& workers) {
  for (RowPart& worker : workers) {
    auto files = [&](std::uint32_t track) { return reader.tracks()[track].kind == TrackKind::kWorkerFiles; };
    if (std::any_of(worker.tracks.begin(), worker.tracks.end(), files))
      worker.tracks.erase(std::remove_if(worker.tracks.begin(), worker.tracks.end(),
                                         [&](std::uint32_t track) { return !files(track); }),
                          worker.tracks.end());
  }
}

Lines lines_of(const Reader& reader, const merged::RankRow& rank) {
  Lines lines;
  std::map<Line, std::size_t> places;
  auto line = [&](std::vector<RowPart>& parts, PartKind kind, float height, const Line& key,
                  const std::string& label) {
    auto [found, is_new] = places.try_emplace(key, parts.size());
    if (is_new) parts.push_back({kind, 0, height, label, {}});
    return &parts[found->second];
  };
  for (std::uint32_t i = rank.first_track; i < rank.first_track + rank.tracks; ++i) {
    const Track& track = reader.tracks()[i];
    if (track.events == 0) continue;
    RowPart* part = nullptr;
    if (is_calls(track.kind) && track.depth == 0)
      part = line(lines.threads, PartKind::kHost, kHostHeight,
                  {PartKind::kHost, track.process, track.lane, 0}, "host");
    else if (track.kind == TrackKind::kStream && track.depth == 0)
      part = line(lines.streams, PartKind::kDevice, kDeviceHeight,
                  {PartKind::kDevice, track.process, track.lane, 0}, track.label);
    else if (is_workers(track.kind) && track.depth == 0)
      part = line(lines.workers, PartKind::kStrip, kStripHeight, {PartKind::kStrip, 0, 0, 0}, track.label);
    else if (track.kind == TrackKind::kRanges && track.depth < kMostRangeDepths)
      part = line(lines.ranges, PartKind::kDevice, kDeviceHeight,
                  {PartKind::kDevice, track.process, track.lane + (1ull << 63), 0}, "ranges");
    if (part) part->tracks.push_back(i);
    // Below what the thread does between them.
    bool looks = track.kind == TrackKind::kLooks && (track.depth == 0 || !reader.marks_of(i).empty());
    auto thread = places.find({PartKind::kHost, track.process, track.lane, 0});
    if (looks && thread != places.end()) {
      std::vector<std::uint32_t>& tracks = lines.threads[thread->second].tracks;
      tracks.insert(tracks.begin(), i);
    }
    // Of the rank's main thread, below all that it was recorded to do.
    if (track.kind == TrackKind::kSightings && !lines.threads.empty()) {
      std::vector<std::uint32_t>& tracks = lines.threads.front().tracks;
      tracks.insert(tracks.begin(), i);
    }
  }
  return lines;
}

// Of "cuda:0 stream 7" what comes before the blank.
std::string_view device_of(std::string_view label) { return label.substr(0, label.find(' ')); }

void label_lines(Lines& lines) {
  for (std::size_t i = 1; i < lines.threads.size(); ++i) lines.threads[i].label = "thread";
  bool several_devices = std::any_of(lines.streams.begin(), lines.streams.end(), [&](const RowPart& part) {
    return device_of(part.label) != device_of(lines.streams[0].label);
  });
  for (RowPart& part : lines.streams) part.label = short_stream_label(part.label, several_devices);
  if (lines.streams.size() == 1) lines.streams[0].label = "gpu";
  for (RowPart& part : lines.workers) part.label = "workers";
}

// A line for each depth: a range stands below the one that it is in.
std::vector<RowPart> by_depth(const RowPart& ranges) {
  std::vector<RowPart> parts;
  for (std::uint32_t track : ranges.tracks)  // which are by depth
    parts.push_back({ranges.kind, 0, ranges.height, parts.empty() ? ranges.label : "", {track}});
  return parts;
}

void stack_parts(Row& row, std::vector<RowPart>& parts, float gap, float& y) {
  for (RowPart& part : parts) {
    part.top = y;
    y += part.height + gap;
    row.parts.push_back(std::move(part));
  }
}

void add_communicators(const Reader& reader, const RowChoice& choice, std::vector<Row>& rows) {
  const auto& all = reader.communicators();
  bool grouped = reader.ranks().size() > kMostRankRows;
  std::vector<std::uint32_t> order;
  if (choice.story_communicator < all.size()) order.push_back(choice.story_communicator);
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (i != choice.story_communicator) order.push_back(i);
  for (std::uint32_t i : order) {
    bool comes_open = i == order.front() && !grouped && all[i].members.size() <= kMostShapeMembers;
    bool dense = choice.density != Density::kRoomy, about = choice.story_communicator == i;
    if (choice.density == Density::kFolded && choice.story_height > 0) comes_open = comes_open && about;
    bool open = comes_open != choice.turned_communicators.contains(i);
    float height = 30, line = dense ? 15.0f : 17.0f;
    std::size_t members = std::min(all[i].members.size(), kMostShapeMembers);
    if (open) height = all[i].members.size() <= kMostShapeMembers ? std::max(members * line + 12, 56.0f) : 60;
    rows.push_back({RowKind::kCommunicator, i, height, {}, open, line});
  }
}

// Of the first rank that has steps: in data-parallel training all have the same.
void add_steps(const Reader& reader, std::vector<Row>& rows) {
  for (std::uint32_t index = 0; index < reader.ranks().size(); ++index) {
    const merged::RankRow& rank = reader.ranks()[index];
    Row row{RowKind::kSteps, index, 4};
    for (std::uint32_t track = rank.first_track;
         track < rank.first_track + rank.tracks && row.parts.size() < 2; ++track) {
      const Track& own = reader.tracks()[track];
      if (own.kind != TrackKind::kSteps || own.depth > 0 || own.events == 0) continue;
      row.parts.push_back({PartKind::kStrip, row.height - 1, 15, "", {track}});
      row.height += 16;
    }
    if (row.parts.empty()) continue;
    rows.push_back(std::move(row));
    return;
  }
}

// The few ranks at fault; hosts, and under an unfolded one its ranks.
void add_hosts(const Reader& reader, const RowChoice& choice, std::vector<Row>& rows) {
  for (std::uint32_t index : choice.first) rows.push_back(rank_row(reader, index, true));
  rows.push_back({RowKind::kHostsHeading, 0, 28});
  for (std::uint32_t host = 0; host < reader.hosts().size(); ++host) {
    bool open = choice.turned_hosts.contains(host);
    rows.push_back({RowKind::kHost,
                    host,
                    open ? 18.0f : std::max(3.0f, std::min(8.0f, 360.0f / reader.hosts().size())),
                    {},
                    open});
    if (!open) continue;
    for (std::uint32_t index : reader.hosts()[host].ranks)
      rows.push_back(choice.turned.contains(index) ? rank_row(reader, index, true)
                                                   : Row{RowKind::kRankStrip, index, 11, {}, false});
  }
}

void add_ranks(const Reader& reader, const RowChoice& choice, std::vector<Row>& rows) {
  std::size_t many = reader.ranks().size();
  auto add = [&](std::uint32_t index) {
    bool is_first = std::find(choice.first.begin(), choice.first.end(), index) != choice.first.end();
    bool comes_open = many <= 16 && (choice.density != Density::kFolded || is_first);
    rows.push_back(rank_row(reader, index, comes_open != choice.turned.contains(index),
                            choice.density != Density::kRoomy));
  };
  std::vector<std::uint32_t> order = choice.pinned;
  auto append = [&](std::uint32_t index) {
    bool shown = choice.only.empty() || choice.only.contains(index);
    if (shown && std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  };
  for (std::uint32_t index : choice.first) append(index);
  for (std::uint32_t index = 0; index < many; ++index) append(index);
  for (std::uint32_t index : order) add(index);
}

}  // namespace

std::string short_stream_label(std::string_view label, bool with_device) {
  constexpr std::string_view kDevice = "cuda:", kStream = " stream ";
  std::size_t at = label.find(kStream);
  if (!label.starts_with(kDevice) || at == label.npos) return std::string(label);
  std::string_view stream = label.substr(at + kStream.size());
  auto end_of = [&](std::size_t most) {
    return stream.size() <= most ? std::string(stream)
                                 : "…" + std::string(stream.substr(stream.size() - most));
  };
  if (with_device) return fmt::format("{}: {}", label.substr(kDevice.size(), at - kDevice.size()), end_of(5));
  return stream.size() <= 4 ? fmt::format("stream {}", stream) : end_of(6);
}

Row rank_row(const Reader& reader, std::uint32_t index, bool open, bool dense) {
  Row row{RowKind::kRank, index, 0, {}, open};
  Lines lines = lines_of(reader, reader.ranks()[index]);
  keep_what_matters(reader, lines.threads);
  keep_file_accesses(reader, lines.workers);
  label_lines(lines);
  keep_most(reader, lines.streams, open ? kMostStreams : 1);
  keep_most(reader, lines.threads, open ? kMostThreads : 1);
  float y = !open ? 4 : dense ? kDensePad : kPad;
  if (!open) {
    for (RowPart& part : lines.threads) part.height = kFoldedHost, part.label = "folded";
    for (RowPart& part : lines.streams) part.height = kFoldedDevice, part.label.clear();
    stack_parts(row, lines.threads, 1, y);
    stack_parts(row, lines.streams, 1, y);
    row.height = std::max(y + 3, 27.0f);
    return row;
  }
  if (dense)
    for (std::vector<RowPart>* parts : {&lines.ranges, &lines.threads, &lines.streams, &lines.workers})
      for (RowPart& part : *parts)
        part.height = part.kind == PartKind::kHost     ? kDenseHost
                      : part.kind == PartKind::kDevice ? kDenseDevice
                                                       : kDenseStrip;
  keep_most(reader, lines.ranges, 1);
  if (!lines.ranges.empty()) {
    std::vector<RowPart> ranges = by_depth(lines.ranges.front());
    stack_parts(row, ranges, 1, y);
    y += kGap - 1;
  }
  float gap = dense ? 1 : kGap;
  stack_parts(row, lines.threads, gap, y);
  stack_parts(row, lines.streams, gap, y);
  stack_parts(row, lines.workers, 1, y);
  row.height = dense ? std::max(y + kDensePad - 1, 36.0f) : std::max(y + kPad - 1, 48.0f);
  return row;
}

std::vector<Row> make_rows(const Reader& reader, const RowChoice& choice) {
  std::vector<Row> rows;
  bool grouped = reader.ranks().size() > kMostRankRows;
  if (grouped) rows.push_back({RowKind::kSummary, 0, 84});
  if (choice.story_height > 0) rows.push_back({RowKind::kStory, 0, choice.story_height});
  add_communicators(reader, choice, rows);
  add_steps(reader, rows);
  if (grouped && choice.only.empty())
    add_hosts(reader, choice, rows);
  else
    add_ranks(reader, choice, rows);
  return rows;
}

RowPlace place_of_track(const std::vector<Row>& rows, std::uint32_t track) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t part = 0; part < rows[row].parts.size(); ++part) {
      const auto& tracks = rows[row].parts[part].tracks;
      if (std::find(tracks.begin(), tracks.end(), track) != tracks.end()) return {row, part};
    }
  return {rows.size(), 0};
}

std::size_t row_of_rank(const std::vector<Row>& rows, const Reader& reader, std::uint32_t rank_row) {
  std::uint32_t host = reader.ranks()[rank_row].host;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if ((rows[row].kind == RowKind::kRank || rows[row].kind == RowKind::kRankStrip) &&
        rows[row].index == rank_row)
      return row;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].kind == RowKind::kHost && rows[row].index == host) return row;
  return rows.size();
}

}  // namespace ddpscope::viewer
