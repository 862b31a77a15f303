// Memory of a device and the addresses that it is mapped at, each made for itself: what the driver's
// cuMemCreate, cuMemAddressReserve and cuMemMap are built on.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::standin {

/// Memory, addresses and the pieces of both that are mapped onto each other come in multiples of this.
inline constexpr std::size_t kMemoryGranularity = std::size_t{2} << 20;

/// Whether a device may read and write a mapping; on the host it is what the most privileged device may.
struct MemoryAccess {
  bool read = false;
  bool write = false;
};

/// Sizes and addresses are multiples of kMemoryGranularity, else cudaErrorInvalidValue; so are handles that
/// nobody has, and ranges that are not whole reservations or mappings.
struct VirtualMemory {
  /// Zeroed memory of a device, held by one handle. cudaErrorMemoryAllocation: the device has no such room;
  /// cudaErrorNotSupported: there is no file for it (shared_memory.h).
  cudaError_t (*create)(int device, std::size_t bytes, std::uint64_t* handle);
  /// Memory is given back when neither a handle nor a mapping holds it.
  cudaError_t (*release)(std::uint64_t handle);
  cudaError_t (*retain)(const void* mapped, std::uint64_t* handle);
  cudaError_t (*device_of)(std::uint64_t handle, int* device);

  /// Addresses that nothing else gets. `alignment`: a power of two or 0; `wanted`: null, or a hint.
  cudaError_t (*reserve)(std::size_t bytes, std::size_t alignment, void* wanted, void** address);
  cudaError_t (*unreserve)(void* address, std::size_t bytes);  ///< nothing is mapped there any more

  /// Maps the first `bytes` of the memory; nobody may touch them before allow().
  cudaError_t (*map)(void* address, std::size_t bytes, std::uint64_t handle);
  cudaError_t (*unmap)(void* address, std::size_t bytes);
  cudaError_t (*allow)(void* address, std::size_t bytes, int device, MemoryAccess access);
  cudaError_t (*access_of)(const void* mapped, int device, MemoryAccess* access);

  /// A file descriptor that stands for the memory, in other processes too; who asked closes it. Room that was
  /// exported is given back when the process ends.
  cudaError_t (*export_memory)(std::uint64_t handle, int* descriptor);
  cudaError_t (*import_memory)(int descriptor, std::uint64_t* handle);

  /// The allocation or mapping that an address lies in. cudaErrorInvalidValue: no device memory.
  cudaError_t (*range_of)(const void* pointer, void** base, std::size_t* bytes);
};

extern const VirtualMemory kVirtualMemory;

}  // namespace ddpscope::standin
