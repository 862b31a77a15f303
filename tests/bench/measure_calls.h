// Times a call through a hook beside the same call past it.
#pragma once
#include <algorithm>
#include <cstdio>

#include "tests/bench/instant_nccl.h"
#include "tests/bench/latencies.h"

namespace ddpscope::bench {

constexpr std::size_t kBlock = 1000;

// Functions of their own, so that callgrind can tell them apart.
template <class Call>
[[gnu::noinline]] void hooked_block(Latencies& latencies, std::size_t calls, const Call& call) {
  latencies.time(calls, call);
}
template <class Call>
[[gnu::noinline]] void bare_block(Latencies& latencies, std::size_t calls, const Call& call) {
  latencies.time(calls, call);
}

inline void print(const char* name, const Summary& s, const char* end) {
  std::printf(
      R"("%s": {"p50": %.1f, "p99": %.1f, "p99.9": %.1f, "max": %.1f, "mean": %.2f, "processor": %.2f}%s)",
      name, s.p50, s.p99, s.p999, s.max, s.mean, s.processor, end);
}

template <class Hooked, class Bare>
void measure(std::size_t calls, const Hooked& hooked, const Bare& bare) {
  for (std::size_t i = 0; i < kBlock; ++i) hooked(i);
  Latencies with(calls), without(calls), nothing(calls);
  for (std::size_t done = 0; done < calls; done += kBlock) {
    std::size_t block = std::min(kBlock, calls - done);
    hooked_block(with, block, hooked);
    bare_block(without, block, bare);
    nothing.time(block, [](std::size_t) {});
  }
  std::printf("{");
  print("hooked", with.summary(), ", ");
  print("bare", without.summary(), ", ");
  print("idle", nothing.summary(), "}\n");
}

// Makes this process one that is recorded from here on.
ncclComm_t make_communicator();

}  // namespace ddpscope::bench
