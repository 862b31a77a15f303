// Device and pinned memory obtained and given back.
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;
using ddpscope::trace::payload::Allocation;

namespace {

Allocation describe(const void* address, std::uint64_t bytes, cudaStream_t stream, std::uint32_t flags) {
  return {bits(address), bytes, bits(stream), flags, 0, device_code(), 0, 0};
}

template <Call call, class... Params, class... Args>
cudaError_t allocate(cudaError_t (*self)(Params...), void** address, std::uint64_t bytes, cudaStream_t stream,
                     std::uint32_t flags, Args... args) {
  return cuda_call_then<call>(
      self, 0, describe(nullptr, bytes, stream, flags),
      [address](Allocation& payload) {
        if (address && payload.result == cudaSuccess) payload.address = bits(*address);
      },
      args...);
}

template <Call call, class... Params, class... Args>
cudaError_t release(cudaError_t (*self)(Params...), void* address, cudaStream_t stream, Args... args) {
  return cuda_call<call>(self, 0, describe(address, 0, stream, 0), args...);
}

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return allocate<Call::cudaMalloc>(&cudaMalloc, devPtr, size, nullptr, 0, devPtr, size);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return allocate<Call::cudaMallocAsync>(&cudaMallocAsync, devPtr, size, hStream, 0, devPtr, size, hStream);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                                    cudaStream_t stream) {
  return allocate<Call::cudaMallocFromPoolAsync>(&cudaMallocFromPoolAsync, ptr, size, stream, 0, ptr, size,
                                                 memPool, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return allocate<Call::cudaMallocManaged>(&cudaMallocManaged, devPtr, size, nullptr, flags, devPtr, size,
                                           flags);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return allocate<Call::cudaMallocPitch>(&cudaMallocPitch, devPtr, width * height, nullptr, 0, devPtr, pitch,
                                         width, height);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return allocate<Call::cudaMallocHost>(&cudaMallocHost, ptr, size, nullptr, 0, ptr, size);
}

DDPSCOPE_EXPORT cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  return allocate<Call::cudaHostAlloc>(&cudaHostAlloc, pHost, size, nullptr, flags, pHost, size, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return cuda_call<Call::cudaHostRegister>(&cudaHostRegister, 0, describe(ptr, size, nullptr, flags), ptr,
                                           size, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaFree(void* devPtr) {
  return release<Call::cudaFree>(&cudaFree, devPtr, nullptr, devPtr);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return release<Call::cudaFreeAsync>(&cudaFreeAsync, devPtr, hStream, devPtr, hStream);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeHost(void* ptr) {
  return release<Call::cudaFreeHost>(&cudaFreeHost, ptr, nullptr, ptr);
}

DDPSCOPE_EXPORT cudaError_t cudaHostUnregister(void* ptr) {
  return release<Call::cudaHostUnregister>(&cudaHostUnregister, ptr, nullptr, ptr);
}
