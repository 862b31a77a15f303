// Device and pinned memory, and the current device.
#include "injector/cuda/memory_call.h"

using namespace ddpscope::injector;

std::atomic<std::uint32_t> ddpscope::injector::kept_allocations;

DDPSCOPE_EXPORT cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return allocate<Call::cudaMalloc>(&cudaMalloc, devPtr, {size}, devPtr, size);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return allocate<Call::cudaMallocAsync>(&cudaMallocAsync, devPtr, {size, hStream}, devPtr, size, hStream);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return allocate<Call::cudaMallocManaged>(&cudaMallocManaged, devPtr, {size, nullptr, flags}, devPtr, size,
                                           flags);
}

// bytes is what was asked for; the pitch may add to it.
DDPSCOPE_EXPORT cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return allocate<Call::cudaMallocPitch>(&cudaMallocPitch, devPtr, {width * height}, devPtr, pitch, width,
                                         height);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return allocate<Call::cudaMallocHost>(&cudaMallocHost, ptr, {size}, ptr, size);
}

DDPSCOPE_EXPORT cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  return allocate<Call::cudaHostAlloc>(&cudaHostAlloc, pHost, {size, nullptr, flags}, pHost, size, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return allocate<Call::cudaHostRegister>(&cudaHostRegister, &ptr, {size, nullptr, flags}, ptr, size, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                                    cudaStream_t stream) {
  return allocate<Call::cudaMallocFromPoolAsync>(&cudaMallocFromPoolAsync, ptr, {size, stream}, ptr, size,
                                                 memPool, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaFree(void* devPtr) {
  return give_back<Call::cudaFree>(&cudaFree, devPtr, nullptr, devPtr);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return give_back<Call::cudaFreeAsync>(&cudaFreeAsync, devPtr, hStream, devPtr, hStream);
}

DDPSCOPE_EXPORT cudaError_t cudaFreeHost(void* ptr) {
  return give_back<Call::cudaFreeHost>(&cudaFreeHost, ptr, nullptr, ptr);
}

DDPSCOPE_EXPORT cudaError_t cudaHostUnregister(void* ptr) {
  return give_back<Call::cudaHostUnregister>(&cudaHostUnregister, ptr, nullptr, ptr);
}

DDPSCOPE_EXPORT cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle,
                                                 unsigned int flags) {
  return allocate<Call::cudaIpcOpenMemHandle>(&cudaIpcOpenMemHandle, devPtr, {0, nullptr, flags}, devPtr,
                                              handle, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return give_back<Call::cudaIpcCloseMemHandle>(&cudaIpcCloseMemHandle, devPtr, nullptr, devPtr);
}

// PyTorch sets the device around nearly everything: only a change is worth a record.
DDPSCOPE_EXPORT cudaError_t cudaSetDevice(int device) {
  auto* function = real<Call::cudaSetDevice>(&cudaSetDevice);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(device);
  bool changes = device != this_thread.device;
  OpenRecord open;
  if (changes) open = begin<Call::cudaSetDevice>(Weight::kOpens, {0, 0, device, 1, 0}, Stack::kTaken);
  VendorCall vendor;
  cudaError_t result = function(device);
  if (changes && result == cudaSuccess) set_device(device);
  finish<PayloadOf<Call::cudaSetDevice>>(open, result);
  return result;
}

DDPSCOPE_EXPORT cudaError_t cudaDeviceReset() {
  PayloadOf<Call::cudaDeviceReset> payload{0, 0, this_thread.device, 1, 0};
  return recorded<Call::cudaDeviceReset>(&cudaDeviceReset, payload, Stack::kTaken, kNothingToFill);
}
