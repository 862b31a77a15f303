// Entry points that allocate, free, register and describe memory.
#include <cuda_runtime_api.h>

#include <cstring>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

constexpr std::size_t kPitchAlignment = 512;

// A request for no bytes succeeds with a null pointer, as CUDA's does.
cudaError_t allocate_into(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags) {
  return enter([&] {
    require(pointer != nullptr, cudaErrorInvalidValue);
    unsafe_in_capture();
    *pointer = bytes == 0 ? nullptr : allocate(bytes, kind, current_device(), flags);
    return cudaSuccess;
  });
}

// Freed memory goes back to the system, so nothing may be using it: as on a GPU, freeing waits for the
// device.
void free_when_unused(void* pointer, Allocation allocation) {
  require(pointer == allocation.base, cudaErrorInvalidValue);
  unsafe_in_capture();
  allocation.device->synchronize();
  if (allocation.flags & kOfGraph) return;
  require(release(pointer, allocation.kind), cudaErrorInvalidValue);
}

cudaMemoryType type_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kSymbol:
    case MemoryKind::kForeign:
    case MemoryKind::kMapped:
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

RUNTIME_API(cudaMalloc, (void** pointer, size_t bytes), (pointer, bytes)) {
  return allocate_into(pointer, bytes, MemoryKind::kDevice, 0);
}

RUNTIME_API(cudaMallocManaged, (void** pointer, size_t bytes, unsigned int flags), (pointer, bytes, flags)) {
  if (bytes == 0) return enter([] { return cudaErrorInvalidValue; });
  return allocate_into(pointer, bytes, MemoryKind::kManaged, flags);
}

RUNTIME_API(cudaHostAlloc, (void** pointer, size_t bytes, unsigned int flags), (pointer, bytes, flags)) {
  return allocate_into(pointer, bytes, MemoryKind::kHost, flags);
}

RUNTIME_API(cudaMallocHost, (void** pointer, size_t bytes), (pointer, bytes)) {
  return allocate_into(pointer, bytes, MemoryKind::kHost, cudaHostAllocDefault);
}

RUNTIME_API(cudaMallocPitch, (void** pointer, size_t* pitch, size_t width, size_t height),
            (pointer, pitch, width, height)) {
  return enter([&] {
    require(pointer != nullptr && pitch != nullptr, cudaErrorInvalidValue);
    unsafe_in_capture();
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    const std::size_t bytes = *pitch * height;
    *pointer = bytes == 0 ? nullptr : allocate(bytes, MemoryKind::kDevice, current_device(), 0);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaFree, (void* pointer), (pointer)) {
  return enter([&] {
    if (!pointer) {
      current_device();  // programs make the context by freeing nothing
      return cudaSuccess;
    }
    const auto allocation = find_allocation(pointer);
    require(
        allocation && (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kManaged),
        cudaErrorInvalidValue);
    free_when_unused(pointer, *allocation);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaFreeHost, (void* pointer), (pointer)) {
  return enter([&] {
    if (!pointer) return cudaSuccess;
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->kind == MemoryKind::kHost, cudaErrorInvalidValue);
    free_when_unused(pointer, *allocation);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaHostRegister, (void* pointer, size_t bytes, unsigned int flags), (pointer, bytes, flags)) {
  return enter([&] {
    require(pointer != nullptr && bytes > 0, cudaErrorInvalidValue);
    unsafe_in_capture();
    const bool fresh = register_range(pointer, bytes, MemoryKind::kRegistered, &current_device(), flags);
    return fresh ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

RUNTIME_API(cudaHostUnregister, (void* pointer), (pointer)) {
  return enter([&] {
    require(pointer != nullptr, cudaErrorInvalidValue);
    unsafe_in_capture();
    return release(pointer, MemoryKind::kRegistered) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

RUNTIME_API(cudaHostGetDevicePointer, (void** device_pointer, void* pointer, unsigned int flags),
            (device_pointer, pointer, flags)) {
  return enter([&] {
    const auto allocation = find_allocation(pointer);
    require(device_pointer != nullptr && flags == 0 && allocation && !allocation->on_device(),
            cudaErrorInvalidValue);
    *device_pointer = pointer;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaHostGetFlags, (unsigned int* flags, void* pointer), (flags, pointer)) {
  return enter([&] {
    const auto allocation = find_allocation(pointer);
    require(flags != nullptr && allocation && allocation->kind == MemoryKind::kHost, cudaErrorInvalidValue);
    *flags = allocation->flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer),
            (attributes, pointer)) {
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
    attributes->device = (allocation->device ? *allocation->device : chosen_device()).ordinal();
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = allocation->on_device() ? nullptr : const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMalloc3D, (cudaPitchedPtr * pointer, cudaExtent extent), (pointer, extent)) {
  if (!pointer) return record_error(cudaErrorInvalidValue);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}

// All memory is the host's and nothing moves: hints are taken and have no effect.
RUNTIME_API(cudaMemAdvise,
            (const void* pointer, [[maybe_unused]] size_t bytes, [[maybe_unused]] cudaMemoryAdvise advice,
             [[maybe_unused]] cudaMemLocation location),
            (pointer, bytes, advice, location)) {
  return enter([&] { return find_allocation(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

RUNTIME_API(cudaMemPrefetchAsync,
            (const void* pointer, [[maybe_unused]] size_t bytes, [[maybe_unused]] cudaMemLocation location,
             [[maybe_unused]] unsigned int flags, cudaStream_t stream),
            (pointer, bytes, location, flags, stream)) {
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
