// Of which collectives times are taken by events: of all, unless that costs too much; then of all in some
// stretches of time.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// A stretch. All steps that lie in it are whole; a short job lies in the first.
constexpr std::uint64_t kStretchNs = 30'000'000'000;

// Whether collectives are timed now: in the first stretch after timing began, and in every 2^level-th stretch
// of the wall clock, so that all communicators and, as far as their hosts' clocks agree, all ranks choose the
// same: what a rank of a higher level chooses, one of a lower level chooses, too.
bool is_sampled(std::uint32_t level, std::uint64_t age_ns, std::uint64_t wall_ns);

// The level by which timing takes no more than 1/500 of one thread's time, if to time all would have taken
// `cost` of the time `elapsed`, both in ticks. It falls where half of that would be enough.
std::uint32_t next_level(std::uint32_t level, std::uint64_t cost, std::uint64_t elapsed);

}  // namespace ddpscope::injector
