// Arithmetic alone: the clocks are read by the poller.
#include "injector/device_times/sampling.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint64_t kShare = 500;
constexpr std::uint32_t kMostLevel = 9;  // more than all of a thread's time is not spent

}  // namespace

bool is_sampled(std::uint32_t level, std::uint64_t age_ns, std::uint64_t wall_ns) {
  std::uint64_t every = std::uint64_t{1} << level;
  return age_ns < kStretchNs || wall_ns / kStretchNs % every == 0;
}

std::uint32_t next_level(std::uint32_t level, std::uint64_t cost, std::uint64_t elapsed) {
  auto fits = [&](std::uint64_t of_all, std::uint32_t at) { return (of_all >> at) * kShare <= elapsed; };
  while (level < kMostLevel && !fits(cost, level)) ++level;
  while (level > 0 && fits(cost * 2, level - 1)) --level;
  return level;
}

}  // namespace ddpscope::injector
