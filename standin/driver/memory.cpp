// Entry points that describe memory.
#include <cstddef>

#include "standin/driver/boundary.h"
#include "standin/driver/contexts.h"

using namespace ddpscope::standin::driver;

namespace {

cudaPointerAttributes attributes_of(CUdeviceptr pointer) {
  cudaPointerAttributes attributes{};
  check(RUNTIME_CALL(cudaPointerGetAttributes)(&attributes, reinterpret_cast<const void*>(pointer)));
  return attributes;
}

template <class Value>
void write(void* data, Value value) {
  *static_cast<Value*>(data) = value;
}

CUmemorytype type_of(const cudaPointerAttributes& memory) {
  return memory.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

void answer(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  require(data != nullptr, CUDA_ERROR_INVALID_VALUE);
  const cudaPointerAttributes memory = attributes_of(pointer);
  require(memory.type != cudaMemoryTypeUnregistered, CUDA_ERROR_INVALID_VALUE);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return write(data, primary_context(memory.device));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(data, type_of(memory));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return write(data, memory.devicePointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(memory.hostPointer != nullptr, CUDA_ERROR_INVALID_VALUE);
      return write(data, memory.hostPointer);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(data, static_cast<unsigned>(memory.type == cudaMemoryTypeManaged));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(data, memory.device);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(data, 1u);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return write(data, 0u);
    default:
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
}

}  // namespace

extern "C" {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return enter([&] { answer(data, attribute, pointer); });
}

// What cannot be answered reads as zero (cuda.h).
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return enter([&] {
    require(attributes != nullptr && data != nullptr, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; ++i) {
      if (guarded([&] { answer(data[i], attributes[i], pointer); }) == CUDA_SUCCESS) continue;
      const bool is_number = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                             attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                             attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
      if (is_number)
        write(data[i], attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? -2 : 0);  // CU_DEVICE_INVALID
      else if (data[i])
        write(data[i], static_cast<void*>(nullptr));
    }
  });
}

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return enter([&] {
    current_device();
    check(RUNTIME_CALL(cudaMemGetInfo)(free_bytes, total_bytes));
  });
}

}  // extern "C"
