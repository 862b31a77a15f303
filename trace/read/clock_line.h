// Ticks of one host to nanoseconds of its CLOCK_MONOTONIC: the line through the clock tuples that its files
// carry.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace ddpscope::trace {

class ClockLine {
 public:
  // `tuples` may come from all processes of a host (they share the clock) and in any order; without two that
  // lie at least 10 ms apart the rate is `tick_hz`, and without that 1 tick is taken for 1 ns.
  ClockLine(ClockKind kind, std::uint64_t tick_hz, std::vector<ClockTuple> tuples);

  std::int64_t monotonic_ns(std::uint64_t ticks) const {
    auto distance = static_cast<std::int64_t>(ticks - origin_ticks_);
    double ns = static_cast<double>(distance) * ns_per_tick_;
    constexpr double kLimit = static_cast<double>(kLimitNs);
    auto moved = static_cast<std::int64_t>(std::clamp(ns, -kLimit, kLimit));
    return std::clamp(origin_ns_ + moved, -kLimitNs, kLimitNs);
  }
  std::int64_t realtime_ns(std::uint64_t ticks) const { return monotonic_ns(ticks) + realtime_offset_ns_; }
  double ns_per_tick() const { return ns_per_tick_; }

 private:
  // Tuples may be hostile: within this limit sums and casts of two values cannot overflow.
  static constexpr std::int64_t kLimitNs = 4'000'000'000'000'000'000;

  std::uint64_t origin_ticks_ = 0;
  std::int64_t origin_ns_ = 0;
  std::int64_t realtime_offset_ns_ = 0;
  double ns_per_tick_ = 1.0;
};

}  // namespace ddpscope::trace
