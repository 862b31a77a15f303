// What is copied to the device for a forward pass.
#pragma once
#include "trace/payloads.h"

namespace ddpscope::patterns {

// More than a scalar hyperparameter, from the host.
inline bool is_input(const trace::payload::Copy& copy) {
  constexpr std::uint8_t kHostToDevice = 1;  // cudaMemcpyKind
  constexpr std::uint64_t kLeastBytes = 64;
  return copy.kind == kHostToDevice && copy.bytes >= kLeastBytes;
}

}  // namespace ddpscope::patterns
