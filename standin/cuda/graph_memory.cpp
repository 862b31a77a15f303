// Memory that graphs allocate, and what is said of it.
#include <cuda_runtime_api.h>

#include <array>
#include <vector>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace ddpscope::standin {
namespace {

struct Use {
  std::atomic<std::uint64_t> now{0};
  std::atomic<std::uint64_t> most{0};
};

Use& use_of(const Device& device) {
  static auto* all = new std::array<Use, kMostDevices>;
  return (*all)[static_cast<std::size_t>(device.ordinal())];
}

void took(Use& use, std::size_t bytes) {
  const std::uint64_t now = use.now += bytes;
  std::uint64_t most = use.most;
  while (most < now && !use.most.compare_exchange_weak(most, now)) {
  }
}

struct OwnedParameters {
  cudaGraphNodeParams shown{};
  std::vector<cudaMemAccessDesc> access;
};

}  // namespace

cudaMemAllocNodeParams allocation_parameters(std::size_t bytes, const Device& device) {
  cudaMemAllocNodeParams parameters{};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location = {.type = cudaMemLocationTypeDevice, .id = device.ordinal()};
  parameters.bytesize = bytes;
  return parameters;
}

NodeWork allocation_work(cudaMemAllocNodeParams& p) {
  require(p.bytesize > 0 && (p.accessDescs != nullptr || p.accessDescCount == 0), cudaErrorInvalidValue);
  Device& device = device_at(p.poolProps.location.id);
  p.dptr = allocate(p.bytesize, MemoryKind::kDevice, device, kOfGraph);
  took(use_of(device), p.bytesize);
  std::shared_ptr<void> memory(p.dptr, [bytes = p.bytesize, &device](void* allocated) {
    use_of(device).now -= bytes;
    release(allocated, MemoryKind::kDevice);
  });
  const auto owned = std::make_shared<OwnedParameters>();
  owned->access.assign(p.accessDescs, p.accessDescs + p.accessDescCount);
  owned->shown.type = cudaGraphNodeTypeMemAlloc;
  owned->shown.alloc = {p.poolProps, owned->access.data(), p.accessDescCount, p.bytesize, p.dptr};
  return {
      .type = cudaGraphNodeTypeMemAlloc, .memory = std::move(memory), .parameters = {owned, &owned->shown}};
}

NodeWork free_work(void* pointer) {
  require(pointer != nullptr, cudaErrorInvalidValue);
  const auto parameters = parameters_of_type(cudaGraphNodeTypeMemFree);
  parameters->free.dptr = pointer;
  return {.type = cudaGraphNodeTypeMemFree, .parameters = parameters};
}

}  // namespace ddpscope::standin

extern "C" {

// What is reserved is what is used.
RUNTIME_API(cudaDeviceGetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
            (device, attribute, value)) {
  return enter([&] {
    require(value != nullptr && attribute >= cudaGraphMemAttrUsedMemCurrent &&
                attribute <= cudaGraphMemAttrReservedMemHigh,
            cudaErrorInvalidValue);
    const Use& use = use_of(device_at(device));
    const bool high =
        attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
    *static_cast<std::uint64_t*>(value) = high ? use.most : use.now;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceSetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
            (device, attribute, value)) {
  return enter([&] {
    const bool high =
        attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
    require(value != nullptr && high && *static_cast<std::uint64_t*>(value) == 0, cudaErrorInvalidValue);
    Use& use = use_of(device_at(device));
    use.most = use.now.load();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGraphMemTrim, (int device), (device)) {
  return enter([&] {
    device_at(device);  // nothing is kept back
    return cudaSuccess;
  });
}

}  // extern "C"
