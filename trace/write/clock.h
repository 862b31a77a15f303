// Where ticks come from: the TSC where it is constant, else CLOCK_MONOTONIC. Both are one clock for a whole
// host.
#pragma once
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

#include "trace/format.h"

namespace ddpscope::trace {

// Injectable, so that test tools write traces with times of their own.
struct Clock {
  ClockKind kind{};
  std::uint64_t tick_hz{};  // 0: unknown, the reader uses the tuples
  ClockTuple (*now)(){};
};

Clock host_clock();

inline std::uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);  // vDSO: no system call, no errno
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t read_ticks(ClockKind kind) {
  return kind == ClockKind::kTsc ? __rdtsc() : monotonic_ns();
}

}  // namespace ddpscope::trace
