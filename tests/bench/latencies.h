// Times single calls by the TSC: a distribution, not only a mean.
#pragma once
#include <x86intrin.h>

#include <cstdint>
#include <vector>

namespace ddpscope::bench {

// Nanoseconds of one TSC tick on this machine.
double ns_per_tick();

// Of the processor that this thread has had: what interrupted it does not count.
std::uint64_t processor_ns();

struct Summary {  // ns
  double p50, p99, p999, max, mean;
  double processor;  // mean time of the processor a call
};

// The ticks of each of so many calls, two reads of the TSC apart; these reads are part of each figure, so a
// cost is the difference from a call that does less.
class Latencies {
 public:
  explicit Latencies(std::size_t calls) : ticks_(calls) {}  // its pages are there before the first call

  // call(i) for the next `calls` numbers i, from 0.
  template <class Call>
  void time(std::size_t calls, Call&& call) {
    std::uint64_t start = processor_ns();
    for (std::size_t end = timed_ + calls; timed_ < end; ++timed_) {
      std::uint64_t before = __rdtsc();
      call(timed_);
      ticks_[timed_] = static_cast<std::uint32_t>(__rdtsc() - before);
    }
    processor_ns_ += processor_ns() - start;
  }

  Summary summary() const;

 private:
  std::vector<std::uint32_t> ticks_;
  std::size_t timed_ = 0;
  std::uint64_t processor_ns_ = 0;
};

}  // namespace ddpscope::bench
