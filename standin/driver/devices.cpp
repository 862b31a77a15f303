// Entry points that initialise the driver, and count and describe devices.
#include <cstdio>
#include <cstring>

#include "standin/driver/boundary.h"
#include "standin/driver/contexts.h"

using namespace ddpscope::standin::driver;

namespace {

cudaDeviceProp properties_of(CUdevice device) {
  cudaDeviceProp properties{};
  check(RUNTIME_CALL(cudaGetDeviceProperties)(&properties, device));
  return properties;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
  return guarded([&] {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    device_count();
    initialise();
  });
}

CUresult cuDriverGetVersion(int* version) {
  return guarded([&] {
    require(version != nullptr, CUDA_ERROR_INVALID_VALUE);
    check(RUNTIME_CALL(cudaDriverGetVersion)(version));
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return enter([&] {
    require(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    require_device(ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return enter([&] {
    require(count != nullptr, CUDA_ERROR_INVALID_VALUE);
    *count = device_count();
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return enter([&] {
    require(name != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
    std::snprintf(name, static_cast<std::size_t>(length), "%s", properties_of(device).name);
  });
}

// The attributes of both libraries have the same numbers (driver_types.h), but for what the driver alone
// does.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return enter([&] {
    if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
        attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) {
      require(value != nullptr, CUDA_ERROR_INVALID_VALUE);
      require_device(device);
      *value = 1;
      return;
    }
    check(RUNTIME_CALL(cudaDeviceGetAttribute)(value, static_cast<cudaDeviceAttr>(attribute), device));
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return enter([&] {
    require(bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
    *bytes = properties_of(device).totalGlobalMem;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return enter([&] {
    require(major != nullptr && minor != nullptr, CUDA_ERROR_INVALID_VALUE);
    const cudaDeviceProp properties = properties_of(device);
    *major = properties.major;
    *minor = properties.minor;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return enter([&] {
    require(uuid != nullptr, CUDA_ERROR_INVALID_VALUE);
    *uuid = properties_of(device).uuid;
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return enter([&] { check(RUNTIME_CALL(cudaDeviceGetPCIBusId)(id, length, device)); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return enter([&] { check(RUNTIME_CALL(cudaDeviceGetByPCIBusId)(device, id)); });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return enter([&] { check(RUNTIME_CALL(cudaDeviceCanAccessPeer)(can, device, peer)); });
}

CUresult cuProfilerStart() {
  return enter([] {});
}

CUresult cuProfilerStop() {
  return enter([] {});
}

}  // extern "C"
