// Entry points that allocate, free, register and describe memory.
#include <cuda_runtime_api.h>

#include <cstring>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

constexpr std::size_t kPitchAlignment = 512;

// A request for no bytes succeeds with a null pointer, as CUDA's does.
cudaError_t allocate_into(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags) {
  return enter([&] {
    require(pointer != nullptr, cudaErrorInvalidValue);
    *pointer = bytes == 0 ? nullptr : allocate(bytes, kind, current_device(), flags);
    return cudaSuccess;
  });
}

// Freed memory goes back to the system, so nothing may be using it: as on a GPU, freeing waits for the
// device.
void free_when_unused(void* pointer, Allocation allocation) {
  require(pointer == allocation.base, cudaErrorInvalidValue);
  allocation.device->synchronize();
  require(release(pointer, allocation.kind), cudaErrorInvalidValue);
}

cudaMemoryType type_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kSymbol:
      return cudaMemoryTypeDevice;
    case MemoryKind::kManaged:
    case MemoryKind::kManagedSymbol:
      return cudaMemoryTypeManaged;
    case MemoryKind::kHost:
    case MemoryKind::kRegistered:
      return cudaMemoryTypeHost;
  }
  return cudaMemoryTypeUnregistered;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate_into(pointer, bytes, MemoryKind::kDevice, 0);
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (bytes == 0) return enter([] { return cudaErrorInvalidValue; });
  return allocate_into(pointer, bytes, MemoryKind::kManaged, flags);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return allocate_into(pointer, bytes, MemoryKind::kHost, flags);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate_into(pointer, bytes, MemoryKind::kHost, cudaHostAllocDefault);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return enter([&] {
    require(pointer != nullptr && pitch != nullptr, cudaErrorInvalidValue);
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    const std::size_t bytes = *pitch * height;
    *pointer = bytes == 0 ? nullptr : allocate(bytes, MemoryKind::kDevice, current_device(), 0);
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* pointer) {
  return enter([&] {
    if (!pointer) return cudaSuccess;
    const auto allocation = find_allocation(pointer);
    require(
        allocation && (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kManaged),
        cudaErrorInvalidValue);
    free_when_unused(pointer, *allocation);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return enter([&] {
    if (!pointer) return cudaSuccess;
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->kind == MemoryKind::kHost, cudaErrorInvalidValue);
    free_when_unused(pointer, *allocation);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return enter([&] {
    require(pointer != nullptr && bytes > 0, cudaErrorInvalidValue);
    const bool fresh = register_range(pointer, bytes, MemoryKind::kRegistered, &current_device(), flags);
    return fresh ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return enter([&] {
    require(pointer != nullptr, cudaErrorInvalidValue);
    return release(pointer, MemoryKind::kRegistered) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned int flags) {
  return enter([&] {
    const auto allocation = find_allocation(pointer);
    require(device_pointer != nullptr && flags == 0 && allocation && !allocation->on_device(),
            cudaErrorInvalidValue);
    *device_pointer = pointer;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  return enter([&] {
    const auto allocation = find_allocation(pointer);
    require(flags != nullptr && allocation && allocation->kind == MemoryKind::kHost, cudaErrorInvalidValue);
    *flags = allocation->flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return enter([&] {
    require(attributes != nullptr, cudaErrorInvalidValue);
    std::memset(attributes, 0, sizeof *attributes);
    attributes->device = -1;
    const auto allocation = find_allocation(pointer);
    if (!allocation) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->hostPointer = const_cast<void*>(pointer);
      return cudaSuccess;
    }
    attributes->type = type_of(allocation->kind);
    attributes->device = (allocation->device ? *allocation->device : current_device()).ordinal();
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = allocation->on_device() ? nullptr : const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return record_error(cudaErrorInvalidValue);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}

// All memory is the host's and nothing moves: hints are taken and have no effect.
cudaError_t cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return enter([&] { return find_allocation(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, cudaMemLocation, unsigned int,
                                 cudaStream_t stream) {
  return enter([&] {
    require(find_allocation(pointer).has_value(), cudaErrorInvalidValue);
    submit(find_stream(stream), {});
    return cudaSuccess;
  });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // extern "C"
