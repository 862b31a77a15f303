// Allocations and their return.
#pragma once
#include "injector/cuda/recording.h"

namespace ddpscope::injector {

struct AllocationArguments {
  std::uint64_t bytes;
  cudaStream_t stream = nullptr;
  std::uint32_t flags = 0;
};

template <Call call, class... Params, class... Args>
cudaError_t allocate(cudaError_t (*self)(Params...), void* const* obtained, const AllocationArguments& a,
                     Args... args) {
  PayloadOf<call> payload{0, a.bytes, stream_number<call>(a.stream), a.flags, 1, current_device(), 0, 0};
  auto fill = [obtained](auto& fields) { fields.address = as_number(*obtained); };
  return recorded<call>(self, payload, Stack::kFirst, fill, args...);
}

template <Call call, class... Params, class... Args>
cudaError_t give_back(cudaError_t (*self)(Params...), const void* address, cudaStream_t stream,
                      Args... args) {
  PayloadOf<call> payload{as_number(address), 0, stream_number<call>(stream), 0, 1, current_device(), 0, 0};
  return recorded<call>(self, payload, Stack::kNone, kNothingToFill, args...);
}

}  // namespace ddpscope::injector
