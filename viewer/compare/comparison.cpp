// Durations are drawn from each trace by itself and brought together by their names.
#include "viewer/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "collector/matching/collectives.h"

namespace ddpscope::viewer {
namespace {

using merged::Reader;
using merged::TrackKind;
using What = DurationChange::What;

constexpr std::uint64_t kMostCollectives = 4096, kRun = 256;  // of a communicator; read at once
constexpr std::uint64_t kMostLeaves = 512;                    // of a kind of track, 16 events each
constexpr std::uint64_t kLeastSamples = 8;                    // fewer say nothing of a spread

using Samples = std::map<std::pair<What, std::string>, std::vector<std::int64_t>>;

class Drawing {
 public:
  explicit Drawing(const Reader& reader) : reader_(reader) {}

  Samples draw() {
    for (std::uint32_t c = 0; c < reader_.communicators().size(); ++c) draw_communicator(c);
    for (TrackKind kind : {TrackKind::kSteps, TrackKind::kHost, TrackKind::kFiles, TrackKind::kStream,
                           TrackKind::kWorker, TrackKind::kWorkerFiles})
      draw_tracks(kind);
    return std::move(samples_);
  }

 private:
  void draw_communicator(std::uint32_t communicator) {
    const merged::CommunicatorRow& row = reader_.communicators()[communicator];
    std::uint64_t runs = std::max<std::uint64_t>(kMostCollectives / kRun, 1);
    std::uint64_t stride = std::max<std::uint64_t>(row.collectives / runs, kRun);
    for (std::uint64_t first = 0; first < row.collectives; first += stride) {
      auto some = reader_.collectives(communicator, first, std::min(first + kRun, row.collectives));
      if (!some) return;
      for (const merged::Collective& collective : *some) add(row, collective);
    }
  }

  // Waiting is from the first to come to the last; what is left to the end is the transfer.
  void add(const merged::CommunicatorRow& row, const merged::Collective& collective) {
    constexpr std::uint8_t kUnlike = merged::kMissing | merged::kMismatched | merged::kNeverCompleted;
    if (collective.flags & kUnlike || collective.signatures.empty() || collective.is_message()) return;
    std::int64_t first_ns = merged::kNever, last_ns = merged::kUnknown, end_ns = merged::kUnknown;
    for (const merged::Arrival& arrival : collective.arrivals) {
      std::int64_t came_ns = std::max(arrival.arrival_ns, arrival.begin_ns);
      first_ns = std::min(first_ns, came_ns);
      last_ns = std::max(last_ns, came_ns);
      end_ns = std::max(end_ns, arrival.end_ns);
    }
    std::string name = row.name + ": " + matching::to_text(collective.signatures.front());
    if (first_ns <= last_ns) samples_[{What::kWait, name}].push_back(last_ns - first_ns);
    if (end_ns >= last_ns && end_ns < merged::kNever)
      samples_[{What::kTransfer, std::move(name)}].push_back(end_ns - last_ns);
  }

  void draw_tracks(TrackKind kind) {
    std::uint64_t leaves = 0;
    auto leaves_of = [&](std::uint32_t track) {
      return reader_.tracks()[track].levels ? reader_.nodes(track, 0) : 0;
    };
    for (std::uint32_t track = 0; track < reader_.tracks().size(); ++track)
      if (reader_.tracks()[track].kind == kind) leaves += leaves_of(track);
    std::uint64_t stride = leaves / kMostLeaves + 1, next = 0, begin = 0;
    for (std::uint32_t track = 0; track < reader_.tracks().size(); ++track) {
      if (reader_.tracks()[track].kind != kind) continue;
      std::uint64_t end = begin + leaves_of(track);
      for (; next < end; next += stride) draw_leaf(track, next - begin);
      begin = end;
    }
  }

  void draw_leaf(std::uint32_t track, std::uint64_t leaf) {
    std::array<merged::Event, merged::kLeafEvents> events;
    std::size_t count = reader_.leaf(track, leaf, events);
    bool steps = reader_.tracks()[track].kind == TrackKind::kSteps;
    if (steps && reader_.tracks()[track].lane != 0) return;  // micro-batches
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].name >= reader_.names().size()) continue;  // one that never ended lasts to the end
      std::string name = steps ? "steps" : std::string(reader_.names()[events[i].name].text);
      samples_[{steps ? What::kStep : What::kCall, std::move(name)}].push_back(events[i].end_ns -
                                                                               events[i].begin_ns);
    }
  }

  const Reader& reader_;
  Samples samples_;
};

Spread spread_of(std::vector<std::int64_t>& samples) {
  return {samples.size(), 0, model::percentiles(samples)};
}

// What the change is worth, of all that was looked at: a call that is twice as long and rare comes later. The
// median's by all calls, the tail's by one in a hundred, and by one at least: the larger of the two.
double weight(const DurationChange& change) {
  auto count = static_cast<double>(std::min(change.here.looked_at, change.other.looked_at));
  const auto &here = change.here.ns, &other = change.other.ns;
  return std::max(std::abs(static_cast<double>(here.p50 - other.p50)) * count,
                  std::abs(static_cast<double>(here.p99 - other.p99)) * std::max(count / 100, 1.0));
}

using Counts = std::map<std::string_view, std::uint64_t>;

Counts counts_of(const Reader& reader) {
  Counts counts;
  for (const merged::Name& name : reader.names()) counts[name.text] += name.count;
  return counts;
}

std::vector<DurationChange> changes_of(Samples here, Samples other) {
  std::vector<DurationChange> changes;
  for (auto& [key, own] : here) {
    auto found = other.find(key);
    if (found == other.end() || std::min(own.size(), found->second.size()) < kLeastSamples) continue;
    changes.push_back({key.first, key.second, spread_of(found->second), spread_of(own)});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const DurationChange& a, const DurationChange& b) {
    auto part = [](What what) { return what == What::kTransfer ? What::kWait : what; };
    return part(a.what) != part(b.what) ? part(a.what) < part(b.what) : weight(a) > weight(b);
  });
  return changes;
}

}  // namespace

namespace {
double ratio(std::int64_t here_ns, std::int64_t other_ns) {
  return static_cast<double>(std::max<std::int64_t>(here_ns, 1)) /
         static_cast<double>(std::max<std::int64_t>(other_ns, 1));
}
}  // namespace

double DurationChange::factor() const { return ratio(here.ns.p50, other.ns.p50); }
double DurationChange::tail_factor() const { return ratio(here.ns.p99, other.ns.p99); }

DurationChange::Verdict DurationChange::verdict() const {
  constexpr double kAlike = 1.25;   // two runs of one job differ, too
  constexpr double kTailAlike = 2;  // a few outliers make the 99th percentile
  Verdict verdict;
  auto weigh = [&](Of of, double factor, double alike) {
    if (factor < alike && factor > 1 / alike) return;
    bool before = factor > 1 ? factor > verdict.factor : verdict.of == Of::kAlike;
    if (before) verdict = {of, factor};
  };
  weigh(Of::kMedian, factor(), kAlike);
  weigh(Of::kTail, tail_factor(), kTailAlike);
  return verdict;
}

std::size_t Comparison::new_findings() const {
  return static_cast<std::size_t>(std::count(is_new.begin(), is_new.end(), true));
}

Comparison compare(const Reader& here, const Reader& other, std::string name_of_other) {
  Comparison result{std::move(name_of_other), other.job(), {}, {}, {}};
  auto ids_of = [](const Reader& reader) {
    std::set<std::string> ids;
    for (const findings::Finding& finding : reader.outcome().findings) ids.insert(finding.id);
    return ids;
  };
  std::set<std::string> own = ids_of(here), others = ids_of(other);
  for (const findings::Finding& finding : here.outcome().findings)
    result.is_new.push_back(others.count(finding.id) == 0);
  for (const findings::Finding& finding : other.outcome().findings)
    if (own.count(finding.id) == 0)
      result.gone.push_back({finding.severity, finding.confidence, finding.slug, finding.title});
  result.durations = changes_of(Drawing(here).draw(), Drawing(other).draw());
  Counts here_counts = counts_of(here), other_counts = counts_of(other);
  for (DurationChange& change : result.durations)
    if (change.what == What::kCall)
      change.here.count = here_counts[change.name], change.other.count = other_counts[change.name];
  return result;
}

}  // namespace ddpscope::viewer
