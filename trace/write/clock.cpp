// Chooses the host's clock and reads it together with the wall clock.
#include "trace/write/clock.h"

#include <cpuid.h>

namespace ddpscope::trace {
namespace {

bool tsc_is_constant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));  // "invariant TSC", Intel SDM 3B 17.17
}

std::uint64_t tsc_hz() {
  unsigned denominator = 0, numerator = 0, crystal_hz = 0, d = 0;
  if (!__get_cpuid(0x15, &denominator, &numerator, &crystal_hz, &d) || !denominator) return 0;
  return static_cast<std::uint64_t>(crystal_hz) * numerator / denominator;
}

// The reading whose two TSC values lie closest together is the least disturbed one.
ClockTuple read_tsc_tuple() {
  ClockTuple best{};
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 3; ++attempt) {
    timespec wall;
    std::uint64_t before = __rdtsc();
    std::uint64_t monotonic = monotonic_ns();
    std::uint64_t after = __rdtsc();
    clock_gettime(CLOCK_REALTIME, &wall);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best.ticks = before + best_width / 2;
    best.monotonic_ns = monotonic;
    best.realtime_ns =
        static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(wall.tv_nsec);
  }
  return best;
}

ClockTuple read_monotonic_tuple() {
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  std::uint64_t ticks = monotonic_ns();
  return {
      ticks, ticks,
      static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(wall.tv_nsec)};
}

}  // namespace

Clock host_clock() {
  if (tsc_is_constant()) return {ClockKind::kTsc, tsc_hz(), read_tsc_tuple};
  return {ClockKind::kMonotonicNs, 1'000'000'000u, read_monotonic_tuple};
}

}  // namespace ddpscope::trace
