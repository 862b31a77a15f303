// How long the calls of one name take, on all ranks and on one.
#pragma once
#include <array>
#include <cstdint>

#include "collector/merged/reader.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

// Three a decade, from below 100 ns to 1,000 s and more.
constexpr std::size_t kDurationBuckets = 32;
std::size_t duration_bucket(std::int64_t ns);
std::int64_t bucket_begin_ns(std::size_t bucket);  // 0 of the first

// Which calls: those of a name that begin in a stretch of time, on all ranks and on one.
constexpr TimeSpan kWholeRun{INT64_MIN, INT64_MAX};
struct DurationsKey {
  std::uint32_t name = 0, rank_row = 0;
  TimeSpan within = kWholeRun;
  bool operator==(const DurationsKey&) const = default;
};

struct CallDurations {
  std::array<std::uint64_t, kDurationBuckets> all{}, on_rank{};
  std::uint64_t looked_at = 0;  // of all; of a track no more than 4,096 are
  std::uint64_t count = 0;      // there are
  bool within = false;          // a stretch of time, not the whole run
};

// Reads the tracks that have the name: not for the thread that draws.
CallDurations durations_of(const merged::Reader& reader, const DurationsKey& key);

}  // namespace ddpscope::viewer
