// Percentiles of call times.
#include "tests/bench/latencies.h"

#include <time.h>

#include <algorithm>
#include <numeric>

namespace ddpscope::bench {
namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

double ns_per_tick() {
  static const double value = [] {
    std::uint64_t ticks = __rdtsc(), ns = read_clock(CLOCK_MONOTONIC);
    timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    return static_cast<double>(read_clock(CLOCK_MONOTONIC) - ns) / static_cast<double>(__rdtsc() - ticks);
  }();
  return value;
}

std::uint64_t processor_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

Summary Latencies::summary() const {
  std::vector<std::uint32_t> sorted(ticks_.begin(), ticks_.begin() + static_cast<std::ptrdiff_t>(timed_));
  std::sort(sorted.begin(), sorted.end());
  auto calls = static_cast<double>(timed_);
  auto at = [&sorted, calls](double quantile) {
    return sorted[static_cast<std::size_t>(quantile * (calls - 1))] * ns_per_tick();
  };
  double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return {at(0.50),
          at(0.99),
          at(0.999),
          at(1.0),
          sum / calls * ns_per_tick(),
          static_cast<double>(processor_ns_) / calls};
}

}  // namespace ddpscope::bench
