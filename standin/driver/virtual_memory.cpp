// Entry points for memory and addresses apart from each other: PyTorch's expandable segments are made of
// them.
#include <cstddef>

#include "standin/cuda/virtual_memory.h"
#include "standin/driver/boundary.h"
#include "standin/driver/contexts.h"

using namespace ddpscope::standin::driver;
using ddpscope::standin::kMemoryGranularity;
using ddpscope::standin::MemoryAccess;
using ddpscope::standin::VirtualMemory;

namespace {

template <class Function, class... Arguments>
void call(Function* VirtualMemory::*function, Arguments... arguments) {
  const cudaError_t error = (runtime().virtual_memory->*function)(arguments...);
  if (error != cudaSuccess) throw Failure{driver_result(error)};
}

// Memory of the host (its nodes, too) and handles for other operating systems or hosts are not provided.
void require_provided(const CUmemAllocationProp* properties) {
  require(properties && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
  require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  require(properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
              properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          CUDA_ERROR_NOT_SUPPORTED);
  require_device(properties->location.id);
}

void* address_of(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       [[maybe_unused]] CUmemAllocationGranularity_flags option) {
  return enter([&] {
    require(granularity != nullptr, CUDA_ERROR_INVALID_VALUE);
    require_provided(properties);
    *granularity = kMemoryGranularity;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  return enter([&] {
    require(handle && flags == 0, CUDA_ERROR_INVALID_VALUE);
    require_provided(properties);
    std::uint64_t made = 0;
    call(&VirtualMemory::create, properties->location.id, bytes, &made);
    *handle = made;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return enter([&] { call(&VirtualMemory::release, handle); });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return enter([&] {
    require(handle != nullptr, CUDA_ERROR_INVALID_VALUE);
    std::uint64_t held = 0;
    call(&VirtualMemory::retain, address, &held);
    *handle = held;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return enter([&] {
    require(properties != nullptr, CUDA_ERROR_INVALID_VALUE);
    *properties = {};
    call(&VirtualMemory::device_of, handle, &properties->location.id);
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  return enter([&] {
    require(pointer && flags == 0, CUDA_ERROR_INVALID_VALUE);
    void* address = nullptr;
    call(&VirtualMemory::reserve, bytes, alignment, address_of(wanted), &address);
    *pointer = reinterpret_cast<CUdeviceptr>(address);
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
  return enter([&] { call(&VirtualMemory::unreserve, address_of(pointer), bytes); });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return enter([&] {
    require(offset == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);  // cuda.h allows nothing else
    call(&VirtualMemory::map, address_of(pointer), bytes, handle);
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
  return enter([&] { call(&VirtualMemory::unmap, address_of(pointer), bytes); });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* wanted, size_t count) {
  return enter([&] {
    require(wanted && count, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; ++i) {
      require(wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
      const MemoryAccess access{wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE,
                                wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      call(&VirtualMemory::allow, address_of(pointer), bytes, wanted[i].location.id, access);
    }
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer) {
  return enter([&] {
    require(flags && location, CUDA_ERROR_INVALID_VALUE);
    require(location->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    MemoryAccess access;
    call(&VirtualMemory::access_of, static_cast<const void*>(address_of(pointer)), location->id, &access);
    *flags = access.write  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : access.read ? CU_MEM_ACCESS_FLAGS_PROT_READ
                           : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return enter([&] {
    require(shareable && flags == 0, CUDA_ERROR_INVALID_VALUE);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    call(&VirtualMemory::export_memory, handle, static_cast<int*>(shareable));
  });
}

// A descriptor is passed by value, as a pointer.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return enter([&] {
    require(handle != nullptr, CUDA_ERROR_INVALID_VALUE);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    std::uint64_t held = 0;
    call(&VirtualMemory::import_memory, static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)), &held);
    *handle = held;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  return enter([&] {
    void* begin = nullptr;
    size_t length = 0;
    call(&VirtualMemory::range_of, static_cast<const void*>(address_of(pointer)), &begin, &length);
    if (base) *base = reinterpret_cast<CUdeviceptr>(begin);
    if (bytes) *bytes = length;
  });
}

}  // extern "C"
