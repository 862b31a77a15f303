// Memory pools and the stream-ordered allocations that come from them.
#include "standin/cuda/memory_pool.h"
#include "standin/cuda/observer.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

void MemoryPool::took(std::uint64_t bytes) {
  const std::uint64_t now = used_.fetch_add(bytes) + bytes;
  std::uint64_t most = most_used_.load();
  while (most < now && !most_used_.compare_exchange_weak(most, now)) {
  }
}

std::uint64_t MemoryPool::attribute(cudaMemPoolAttr attr) const {
  switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      return reuse_[attr - cudaMemPoolReuseFollowEventDependencies];
    case cudaMemPoolAttrReleaseThreshold:
      return release_threshold_;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      return used_;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      return most_used_;
  }
  throw Failure{cudaErrorInvalidValue};
}

void MemoryPool::set_attribute(cudaMemPoolAttr attr, std::uint64_t value) {
  switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      reuse_[attr - cudaMemPoolReuseFollowEventDependencies] = value;
      return;
    case cudaMemPoolAttrReleaseThreshold:
      release_threshold_ = value;
      return;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      require(value == 0, cudaErrorInvalidValue);
      most_used_ = used_.load();
      return;
    default:
      throw Failure{cudaErrorInvalidValue};
  }
}

namespace {

using Pools = HandleTable<cudaMemPool_t, MemoryPool>;

Pools& pools() {
  static auto* table = new Pools;
  return *table;
}

/// A device's own pool, which is never destroyed, and the one that cudaMallocAsync uses.
struct DevicePools {
  cudaMemPool_t own;
  cudaMemPool_t current;
};

std::mutex device_pools_mutex;

DevicePools& pools_of(Device& device) {  // needs device_pools_mutex
  static auto* all = new std::map<Device*, DevicePools>;
  const auto [entry, fresh] = all->try_emplace(&device);
  if (fresh) entry->second.own = entry->second.current = pools().add(std::make_shared<MemoryPool>(device));
  return entry->second;
}

bool is_flag(cudaMemPoolAttr attr) {
  return attr < cudaMemPoolAttrReleaseThreshold;
}  // an int, not a cuuint64_t

cudaError_t allocate_async(void** pointer, std::size_t bytes, const StreamRef& stream,
                           const std::shared_ptr<MemoryPool>& pool) {
  require(pointer != nullptr, cudaErrorInvalidValue);
  if (captures_run() && is_captured(*stream)) {
    cudaMemAllocNodeParams parameters = allocation_parameters(bytes, pool->device());
    NodeWork does = allocation_work(parameters);
    *pointer = parameters.dptr;
    capture_node(*stream, std::move(does));
    return cudaSuccess;
  }
  *pointer = bytes == 0 ? nullptr : allocate(bytes, MemoryKind::kDevice, pool->device(), 0, pool);
  return cudaSuccess;
}

}  // namespace
}  // namespace ddpscope::standin

using namespace ddpscope::standin;

extern "C" {

RUNTIME_API(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return enter([&] {
    require(pool != nullptr, cudaErrorInvalidValue);
    std::lock_guard lock(device_pools_mutex);
    *pool = pools_of(device_at(device)).own;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return enter([&] {
    require(pool != nullptr, cudaErrorInvalidValue);
    std::lock_guard lock(device_pools_mutex);
    *pool = pools_of(device_at(device)).current;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), (device, pool)) {
  return enter([&] {
    require(&pools().find(pool)->device() == &device_at(device), cudaErrorInvalidValue);
    std::lock_guard lock(device_pools_mutex);
    pools_of(device_at(device)).current = pool;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* properties),
            (pool, properties)) {
  return enter([&] {
    require(pool != nullptr && properties != nullptr, cudaErrorInvalidValue);
    require(properties->location.type == cudaMemLocationTypeDevice &&
                properties->handleTypes == cudaMemHandleTypeNone,
            cudaErrorNotSupported);
    *pool = pools().add(std::make_shared<MemoryPool>(device_at(properties->location.id)));
    return cudaSuccess;
  });
}

// Memory that came from the pool stays until it is freed.
RUNTIME_API(cudaMemPoolDestroy, (cudaMemPool_t pool), (pool)) {
  return enter([&] {
    Device& device = pools().find(pool)->device();
    std::lock_guard lock(device_pools_mutex);
    DevicePools& used = pools_of(device);
    require(pool != used.own, cudaErrorInvalidValue);
    if (used.current == pool) used.current = used.own;
    pools().take(pool);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attr, void* value),
            (pool, attr, value)) {
  return enter([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    const std::uint64_t now = pools().find(pool)->attribute(attr);
    if (is_flag(attr)) {
      *static_cast<int*>(value) = static_cast<int>(now);
    } else {
      *static_cast<std::uint64_t*>(value) = now;
    }
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attr, void* value),
            (pool, attr, value)) {
  return enter([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    const bool flag = is_flag(attr);
    pools().find(pool)->set_attribute(attr,
                                      flag ? *static_cast<int*>(value) : *static_cast<std::uint64_t*>(value));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemPoolTrimTo, (cudaMemPool_t pool, [[maybe_unused]] size_t bytes), (pool, bytes)) {
  return enter([&] {
    pools().find(pool);  // nothing is kept back
    return cudaSuccess;
  });
}

// All memory is the host's, so every device can always read and write it.
RUNTIME_API(cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc* wanted, size_t count),
            (pool, wanted, count)) {
  return enter([&] {
    require(wanted != nullptr || count == 0, cudaErrorInvalidValue);
    pools().find(pool);
    for (size_t i = 0; i < count; ++i) device_at(wanted[i].location.id);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemPoolGetAccess,
            (cudaMemAccessFlags * access, cudaMemPool_t pool, cudaMemLocation* location),
            (access, pool, location)) {
  return enter([&] {
    require(access != nullptr && location != nullptr, cudaErrorInvalidValue);
    pools().find(pool);
    device_at(location->id);
    *access = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMallocFromPoolAsync, (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
            (pointer, bytes, pool, stream)) {
  return enter([&] { return allocate_async(pointer, bytes, find_stream(stream), pools().find(pool)); });
}

RUNTIME_API(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream), (pointer, bytes, stream)) {
  return enter([&] {
    const StreamRef behind = find_stream(stream);
    cudaMemPool_t pool = nullptr;
    {
      std::lock_guard lock(device_pools_mutex);
      pool = pools_of(behind->device()).current;
    }
    return allocate_async(pointer, bytes, behind, pools().find(pool));
  });
}

RUNTIME_API(cudaFreeAsync, (void* pointer, cudaStream_t stream), (pointer, stream)) {
  return enter([&] {
    if (!pointer) return cudaSuccess;
    const StreamRef behind = find_stream(stream);
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->base == pointer && allocation->kind == MemoryKind::kDevice,
            cudaErrorInvalidValue);
    if (captures_run() && capture_node(*behind, free_work(pointer))) return cudaSuccess;
    if (allocation->flags & kOfGraph) return cudaSuccess;
    submit(behind, [pointer] { release(pointer, MemoryKind::kDevice); });
    return cudaSuccess;
  });
}

}  // extern "C"
