// Functions for memory whose parameters grew with CUDA 13: a device's number became a location, and the
// description of a pointer got room for more.
#include <cstddef>
#include <cstring>

#include "standin/cuda12/cudart/newer.h"

namespace {

cudaMemLocation location_of(int device) {
  if (device == cudaCpuDeviceId) return {cudaMemLocationTypeHost, 0};
  return {cudaMemLocationTypeDevice, device};
}

}  // namespace

OLDER(cudaMemAdvise, (const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device)) {
  return NEWER(cudaMemAdvise)(pointer, bytes, advice, location_of(device));
}

OLDER(cudaMemPrefetchAsync, (const void* pointer, size_t bytes, int device, cudaStream_t stream)) {
  return NEWER(cudaMemPrefetchAsync)(pointer, bytes, location_of(device), 0, stream);
}

OLDER(cudaMemPrefetchAsync_ptsz, (const void* pointer, size_t bytes, int device, cudaStream_t stream)) {
  return NEWER_LIKE(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz)(pointer, bytes, location_of(device), 0,
                                                                     stream);
}

OLDER(cudaPointerGetAttributes, (void* attributes, const void* pointer)) {
  cudaPointerAttributes newer{};
  const cudaError_t error = NEWER(cudaPointerGetAttributes)(attributes ? &newer : nullptr, pointer);
  if (error == cudaSuccess) std::memcpy(attributes, &newer, offsetof(cudaPointerAttributes, reserved));
  return error;
}
