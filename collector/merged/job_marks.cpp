// Evidence by process and time, accesses by path.
#include "collector/merged/job_marks.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace ddpscope::merged {
namespace {

// Of a file that a job touches in every step the first ones tell the story.
constexpr std::size_t kMostAccesses = 100'000;

bool holds_calls(const Track& track) {
  switch (track.kind) {
    case TrackKind::kHost:
    case TrackKind::kFiles:
    case TrackKind::kInput:
    case TrackKind::kWorker:
    case TrackKind::kWorkerFiles:
    case TrackKind::kLooks:
      return true;
    default:
      return false;
  }
}

// Calls visit(place) for the events of a track that begin then and have that name.
template <class Visit>
void for_each_at(const Reader& written, std::uint32_t track, std::int64_t begin_ns, std::string_view name,
                 Visit&& visit) {
  std::uint64_t events = written.tracks()[track].events;
  for (std::uint64_t i = written.first_ending_after(track, begin_ns - 1); i < events; ++i) {
    Event event = written.event({track, i});
    if (event.begin_ns > begin_ns) return;
    if (event.begin_ns == begin_ns && written.names()[event.name].text == name) visit(EventPlace{track, i});
  }
}

}  // namespace

std::vector<Mark> find_marks(const Reader& written, const findings::Outcome& outcome) {
  // A pid may be that of several processes, one after another.
  std::map<std::string_view, std::vector<std::uint32_t>> tracks;
  for (std::uint32_t i = 0; i < written.tracks().size(); ++i)
    if (const Track& track = written.tracks()[i]; holds_calls(track))
      tracks[written.processes()[track.process].name].push_back(i);
  std::vector<Mark> marks;
  for (std::uint32_t f = 0; f < outcome.findings.size(); ++f) {
    const findings::Finding& finding = outcome.findings[f];
    auto severity = static_cast<std::uint8_t>(1 + static_cast<unsigned>(finding.severity));
    for (std::uint32_t e = 0; e < finding.evidence.size(); ++e) {
      const findings::Evidence& evidence = finding.evidence[e];
      auto own = tracks.find(evidence.process);
      if (own == tracks.end()) continue;
      std::int64_t begin_ns = std::clamp<std::int64_t>(evidence.t_ns, 0, written.job().duration_ns);
      for (std::uint32_t track : own->second)
        for_each_at(written, track, begin_ns, evidence.call, [&](EventPlace place) {
          marks.push_back({place, f, e, severity});
        });
    }
  }
  return marks;
}

void FileAccesses::note(std::string_view path, std::int64_t begin_ns, EventPlace place) {
  auto number =
      numbers_.try_emplace(std::string(path), static_cast<std::uint32_t>(numbers_.size())).first->second;
  Noted noted{begin_ns, place.index, place.track, number};
  noted_.append({reinterpret_cast<const unsigned char*>(&noted), sizeof(noted)});
}

// A part of the spool may end within one.
template <class Visit>
int FileAccesses::for_each(Visit&& visit) const {
  std::vector<unsigned char> bytes;
  return noted_.for_each_part([&](std::span<const unsigned char> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    std::size_t whole = bytes.size() - bytes.size() % sizeof(Noted);
    for (std::size_t at = 0; at < whole; at += sizeof(Noted)) {
      Noted noted;
      std::memcpy(&noted, bytes.data() + at, sizeof(noted));
      visit(noted);
    }
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
  });
}

Accesses FileAccesses::of(const findings::Outcome& outcome, Writer& writer) const {
  std::map<std::uint32_t, std::string> watched;
  auto watch = [&](const std::string& path) {
    if (auto known = numbers_.find(path); known != numbers_.end()) watched[known->second] = path;
  };
  for (const findings::Finding& finding : outcome.findings) {
    for (const std::string& file : finding.files) watch(file);
    for (const findings::Evidence& evidence : finding.evidence) watch(evidence.file);
  }
  if (watched.empty()) return {};
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, EventPlace>>> found;
  writer.fail(for_each([&](const Noted& noted) {
    if (!watched.contains(noted.path)) return;
    auto& own = found[noted.path];
    if (own.size() < kMostAccesses)
      own.emplace_back(noted.begin_ns, writer.settled({noted.track, noted.index}));
  }));
  Accesses accesses;
  for (auto& [path, own] : found) {
    std::stable_sort(own.begin(), own.end());
    for (const auto& [begin_ns, place] : own) accesses[watched[path]].push_back(place);
  }
  return accesses;
}

}  // namespace ddpscope::merged
