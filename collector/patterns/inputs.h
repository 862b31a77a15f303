// What is copied to the device for a forward pass.
#pragma once
#include "collector/model/cuda_types.h"
#include "trace/payloads.h"

namespace ddpscope::patterns {

// More than a scalar hyperparameter, from the host.
inline bool is_input(const trace::payload::Copy& copy) {
  constexpr std::uint64_t kLeastBytes = 64;
  return copy.kind == model::kHostToDevice && copy.bytes >= kLeastBytes;
}

}  // namespace ddpscope::patterns
