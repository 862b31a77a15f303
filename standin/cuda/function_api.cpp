// Entry points that ask about kernels and tune them. A CPU body has no registers and no shared memory: the
// answers are those of a small kernel that fits everywhere.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/kernel.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

cudaError_t occupancy(int* blocks, const void* function, int block_size, std::size_t shared_bytes) {
  return enter([&] {
    find_kernel(function);
    const cudaDeviceProp& limits = current_device().properties();
    require(blocks != nullptr && block_size > 0, cudaErrorInvalidValue);
    *blocks = 0;
    if (block_size > limits.maxThreadsPerBlock || shared_bytes > limits.sharedMemPerBlockOptin)
      return cudaSuccess;
    *blocks = std::min(limits.maxThreadsPerMultiProcessor / block_size, limits.maxBlocksPerMultiProcessor);
    if (shared_bytes == 0) return cudaSuccess;
    const std::size_t block_bytes = shared_bytes + limits.reservedSharedMemPerBlock;
    *blocks = std::min(*blocks, static_cast<int>(limits.sharedMemPerMultiprocessor / block_bytes));
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

RUNTIME_API(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* function),
            (attributes, function)) {
  return enter([&] {
    require(attributes != nullptr, cudaErrorInvalidValue);
    find_kernel(function);
    const cudaDeviceProp& limits = current_device().properties();
    *attributes = {};
    attributes->maxThreadsPerBlock = limits.maxThreadsPerBlock;
    attributes->numRegs = kRegistersPerThread;
    attributes->ptxVersion = attributes->binaryVersion = 10 * limits.major + limits.minor;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(limits.sharedMemPerBlock);
    attributes->preferredShmemCarveout = -1;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaFuncSetAttribute,
            (const void* function, [[maybe_unused]] cudaFuncAttribute attribute, [[maybe_unused]] int value),
            (function, attribute, value)) {
  return enter([&] {
    find_kernel(function);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaFuncSetCacheConfig, (const void* function, [[maybe_unused]] cudaFuncCache config),
            (function, config)) {
  return enter([&] {
    find_kernel(function);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaFuncGetName, (const char** name, const void* function), (name, function)) {
  return enter([&] {
    require(name != nullptr, cudaErrorInvalidValue);
    *name = find_kernel(function).name().c_str();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            (int* blocks, const void* function, int block_size, size_t shared_bytes),
            (blocks, function, block_size, shared_bytes)) {
  return occupancy(blocks, function, block_size, shared_bytes);
}

RUNTIME_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            (int* blocks, const void* function, int block_size, size_t shared_bytes,
             [[maybe_unused]] unsigned int flags),
            (blocks, function, block_size, shared_bytes, flags)) {
  return occupancy(blocks, function, block_size, shared_bytes);
}

RUNTIME_API(cudaProfilerStart, (), ()) {
  return enter([] { return cudaSuccess; });
}

RUNTIME_API(cudaProfilerStop, (), ()) {
  return enter([] { return cudaSuccess; });
}

}  // extern "C"
