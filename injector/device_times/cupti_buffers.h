// The memory that CUPTI fills: handed out in the guest's threads, so that it is mapped before and never
// refused.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::injector {

constexpr std::size_t kCuptiBufferBytes = 1 << 20;

// Before CUPTI asks for the first one. False: no memory.
bool prepare_cupti_buffers();
// 8-byte aligned. CUPTI before CUDA 12.9 crashes if it is given none: nullptr only if there is no memory.
std::uint8_t* take_cupti_buffer();
// Whether it was taken here: CUPTI has one list of buffers for all that have been its client.
bool is_cupti_buffer(const std::uint8_t* buffer);
void give_cupti_buffer_back(std::uint8_t* buffer);  // nothing if it is not one of ours

}  // namespace ddpscope::injector
