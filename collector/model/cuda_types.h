// Numbers of CUDA's runtime, as in driver_types.h 13.0.
#pragma once
#include <cstdint>

namespace ddpscope::model {

// cudaMemcpyKind.
constexpr std::uint8_t kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kDefaultCopy = 4;

}  // namespace ddpscope::model
