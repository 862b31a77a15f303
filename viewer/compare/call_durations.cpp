// Of each track the first calls: enough to tell ranks apart.
#include "viewer/compare/call_durations.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

constexpr double kLeastNs = 100, kADecade = 3;
constexpr std::uint64_t kMostOfATrack = 4096;

}  // namespace

std::int64_t bucket_begin_ns(std::size_t bucket) {
  if (bucket == 0) return 0;
  return std::llround(kLeastNs * std::pow(10.0, static_cast<double>(bucket - 1) / kADecade));
}

std::size_t duration_bucket(std::int64_t ns) {
  static const auto begins = [] {
    std::array<std::int64_t, kDurationBuckets> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = bucket_begin_ns(i);
    return all;
  }();
  auto behind = std::upper_bound(begins.begin() + 1, begins.end(), ns);
  return static_cast<std::size_t>(behind - begins.begin()) - 1;
}

CallDurations durations_of(const merged::Reader& reader, const DurationsKey& key) {
  CallDurations result;
  result.within = key.within != kWholeRun;
  std::vector<bool> names(reader.names().size(), false);
  if (key.name >= names.size()) return result;
  names[key.name] = true;
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track) {
    auto on = reader.names_on(track);
    auto own = std::find_if(on.begin(), on.end(),
                            [&](const merged::NameCount& each) { return each.name == key.name; });
    if (own == on.end()) continue;
    if (!result.within) result.count += own->count;
    std::uint64_t taken = 0;
    reader.for_each_named(track, names, [&](std::uint64_t, const merged::Event& event) {
      if (event.begin_ns > key.within.to_ns) return false;
      if (event.begin_ns < key.within.from_ns) return true;
      if (result.within) ++result.count;
      if (taken == kMostOfATrack) return result.within;  // of the whole run it is known how many there are
      ++taken;
      std::size_t bucket = duration_bucket(event.end_ns - event.begin_ns);
      ++result.all[bucket];
      if (reader.tracks()[track].rank_row == key.rank_row) ++result.on_rank[bucket];
      return true;
    });
    result.looked_at += taken;
  }
  return result;
}

}  // namespace ddpscope::viewer
