// Times single calls by the TSC: a distribution, not only a mean.
#pragma once
#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <cstdint>
#include <vector>

namespace ddpscope::bench {

// Nanoseconds of one TSC tick on this machine.
double ns_per_tick();

// Ticks of each of many calls, two reads of the TSC apart; their own cost is part of each figure.
class Latencies {
 public:
  explicit Latencies(std::size_t calls) { ticks_.reserve(calls); }

  template <class Call>
  void time(Call&& call) {
    std::uint64_t before = __rdtsc();
    call();
    ticks_.push_back(static_cast<std::uint32_t>(__rdtsc() - before));
  }

  // Adds p50, p99, p99.9, max and mean, in ns, to a benchmark's columns.
  void report(benchmark::State& state);

 private:
  std::vector<std::uint32_t> ticks_;
};

}  // namespace ddpscope::bench
