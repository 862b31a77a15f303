// Device, managed and page-locked memory: all of it host memory, told apart by a table of pointers.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "standin/cuda/shared_memory.h"

namespace ddpscope::standin {

class Device;
class MemoryPool;

enum class MemoryKind {
  kDevice,         ///< cudaMalloc and its like
  kManaged,        ///< cudaMallocManaged
  kHost,           ///< cudaMallocHost, cudaHostAlloc
  kRegistered,     ///< cudaHostRegister: the program's own memory
  kSymbol,         ///< a __device__ or __constant__ variable: its host-side shadow
  kManagedSymbol,  ///< a __managed__ variable
  kForeign,        ///< another process's device memory, opened by a handle
  kMapped,         ///< memory and addresses of the driver's virtual memory management
};

/// Of memory that a graph allocates: it is freed with the graph.
inline constexpr unsigned kOfGraph = 1u << 31;

struct Allocation {
  char* base = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;          ///< null for variables, which every device has
  unsigned flags = 0;                ///< as given to cudaHostAlloc or cudaHostRegister; kOfGraph
  std::shared_ptr<MemoryPool> pool;  ///< null but for stream-ordered allocations
  std::uint64_t shared_at = kNotShareable;

  bool on_device() const {
    return kind == MemoryKind::kDevice || kind == MemoryKind::kSymbol || kind == MemoryKind::kForeign ||
           kind == MemoryKind::kMapped;
  }
  bool is_variable() const { return kind == MemoryKind::kSymbol || kind == MemoryKind::kManagedSymbol; }
};

/// Zeroed memory, 512-byte aligned at least; never null. Pages take room when they are first touched.
/// Fails with cudaErrorMemoryAllocation.
void* allocate(std::size_t bytes, MemoryKind kind, Device& device, unsigned flags,
               std::shared_ptr<MemoryPool> pool = nullptr);

/// Forgets and frees an allocation, whoever still uses it. False where `pointer` is not the base of one of
/// `kind`.
bool release(void* pointer, MemoryKind kind);

/// Takes room of a device's memory. Fails with cudaErrorMemoryAllocation.
void charge(Device& device, std::size_t bytes);

/// Enters memory that is not ours to free; false where part of it is in the table already.
bool register_range(void* base, std::size_t bytes, MemoryKind kind, Device* device, unsigned flags);

/// The allocation that `pointer` lies in; none for pageable memory.
std::optional<Allocation> find_allocation(const void* pointer);

/// The device variable behind the address of its host-side shadow. Fails with cudaErrorInvalidSymbol.
Allocation find_variable(const void* symbol);

/// `offset` bytes into that variable. Fails with cudaErrorInvalidValue too, where `bytes` do not fit there.
char* inside_variable(const void* symbol, std::size_t offset, std::size_t bytes);

}  // namespace ddpscope::standin
