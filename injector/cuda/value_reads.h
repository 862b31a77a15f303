// Values that the host reads back from a device: a loss, a norm. Ranks that hold copies of one model read the
// same.
#pragma once
#include <cuda_runtime_api.h>

#include "injector/core/hook.h"
#include "injector/cuda/copy_digests.h"

namespace ddpscope::injector {

// A number of single or double precision.
inline bool may_be_value(std::uint64_t bytes, cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost && (bytes == 4 || bytes == 8);
}

// After a copy that waits has succeeded, inside VendorCall: the value is there. A run of copies, which is one
// record with this key, has one value, the first.
void read_value(const OpenRecord& copy, std::uint64_t key, const LinearCopy& what);

// After a copy has been enqueued, inside VendorCall: the value comes later.
void await_value(const OpenRecord& copy, const LinearCopy& what);

// After this thread has waited for the stream, and made no other such call since: the value that it awaits is
// read if no other CUDA or NCCL call lies between the two. Then the copy belongs to that wait, and its
// destination was neither pinned anew nor given back to CUDA meanwhile. It need not be there any more, or
// hold the value still, if it is pageable: such a copy has ended when its call returns, and who made it may
// have gone on.
void take_awaited_value(const OpenRecord& wait, std::uint64_t stream);

}  // namespace ddpscope::injector
