// Digests of what copies bring from the host to the device: ranks that are given the same batch show the
// same.
#pragma once
#include <cuda_runtime_api.h>

#include "injector/core/hook.h"

namespace ddpscope::injector {

struct LinearCopy {
  const void* destination;
  std::uint64_t source;
  std::uint64_t bytes;
  std::uint64_t stream;  // as recorded
  cudaMemcpyKind kind;
};

// What is shorter are scalars: learning rates, flags, offsets.
constexpr std::uint64_t kLeastDigested = 64;

inline bool may_carry_input(std::uint64_t bytes, cudaMemcpyKind kind) {
  return bytes >= kLeastDigested && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDefault);
}

// After the copy of that record has succeeded, before its hook returns, inside VendorCall: CUDA has then
// accepted all of the source, and it still belongs to the thread that copies. A run of copies, which is one
// record with this key, has one digest. Nothing where the source is not memory that the host reads fast.
void digest_copy(const OpenRecord& copy, std::uint64_t key, const LinearCopy& what);

// Host memory is obtained from CUDA or registered with it.
void note_host_memory(unsigned flags);

}  // namespace ddpscope::injector
