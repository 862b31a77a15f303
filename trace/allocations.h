// How many calls that obtain or give back memory a process keeps: later ones are bulk, in the ring.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

// PyTorch's allocator makes some hundreds in a job's life; a program that allocates in every step makes
// thousands a second.
constexpr std::uint32_t kKeptAllocations = 10'000;

}  // namespace ddpscope::trace
