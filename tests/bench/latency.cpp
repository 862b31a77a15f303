// Percentiles of call times.
#include "tests/bench/latency.h"

#include <time.h>

#include <algorithm>
#include <numeric>

#include "trace/write/clock.h"

namespace ddpscope::bench {

double ns_per_tick() {
  static const double value = [] {
    std::uint64_t ticks = __rdtsc(), ns = trace::monotonic_ns();
    timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    return static_cast<double>(trace::monotonic_ns() - ns) / static_cast<double>(__rdtsc() - ticks);
  }();
  return value;
}

void Latencies::report(benchmark::State& state) {
  std::sort(ticks_.begin(), ticks_.end());
  auto at = [this](double quantile) {
    auto index = static_cast<std::size_t>(quantile * static_cast<double>(ticks_.size() - 1));
    return static_cast<double>(ticks_[index]) * ns_per_tick();
  };
  state.counters["p50"] = at(0.50);
  state.counters["p99"] = at(0.99);
  state.counters["p99.9"] = at(0.999);
  state.counters["max"] = at(1.0);
  double sum = std::accumulate(ticks_.begin(), ticks_.end(), 0.0);
  state.counters["mean"] = sum / static_cast<double>(ticks_.size()) * ns_per_tick();
}

}  // namespace ddpscope::bench
