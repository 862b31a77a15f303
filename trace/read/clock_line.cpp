// The line between the first and the last clock tuple.
#include "trace/read/clock_line.h"

#include <algorithm>

namespace ddpscope::trace {
ClockLine::ClockLine(ClockKind kind, std::uint64_t tick_hz, std::vector<ClockTuple> tuples) {
  if (tick_hz) ns_per_tick_ = 1e9 / static_cast<double>(tick_hz);
  if (tuples.empty()) return;
  auto limited = [](std::uint64_t ns) {
    return static_cast<std::int64_t>(std::min(ns, static_cast<std::uint64_t>(kLimitNs)));
  };
  auto earlier = [](const ClockTuple& a, const ClockTuple& b) { return a.ticks < b.ticks; };
  auto [first, last] = std::minmax_element(tuples.begin(), tuples.end(), earlier);
  origin_ticks_ = first->ticks;
  origin_ns_ = limited(first->monotonic_ns);
  realtime_offset_ns_ = limited(first->realtime_ns) - origin_ns_;
  constexpr std::uint64_t kLongEnough = 10'000'000;  // 10 ms: a 100 ns reading error is 10 ppm of it
  if (kind == ClockKind::kMonotonicNs) {
    ns_per_tick_ = 1.0;
  } else if (last->ticks > first->ticks && last->monotonic_ns > first->monotonic_ns &&
             (!tick_hz || last->monotonic_ns - first->monotonic_ns >= kLongEnough)) {
    ns_per_tick_ = static_cast<double>(last->monotonic_ns - first->monotonic_ns) /
                   static_cast<double>(last->ticks - first->ticks);
  }
}

}  // namespace ddpscope::trace
