// Entry points that say which device it is: what the runtime says of it in cudaDeviceProp.
#include <cstdio>

#include "standin/cuda/uuid_text.h"
#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

// Vendor and model stay 0: no such PCI device exists.
template <class Info>
void describe_pci(Info& info, const cudaDeviceProp& properties) {
  info.domain = static_cast<unsigned int>(properties.pciDomainID);
  info.bus = static_cast<unsigned int>(properties.pciBusID);
  info.device = static_cast<unsigned int>(properties.pciDeviceID);
  std::snprintf(info.busId, sizeof info.busId, NVML_DEVICE_PCI_BUS_ID_FMT,
                NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(&info));
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  return enter([&] {
    require_given(index);
    *index = index_of(device);
  });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
  return enter([&] { write_text(name, length, properties_of(device).name); });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return enter([&] { write_text(uuid, length, ddpscope::standin::uuid_text(properties_of(device).uuid)); });
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* brand) {
  return enter([&] {
    index_of(device);
    require_given(brand);
    *brand = NVML_BRAND_UNKNOWN;
  });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return enter([&] {
    require_given(major, minor);
    const cudaDeviceProp properties = properties_of(device);
    *major = properties.major;
    *minor = properties.minor;
  });
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* architecture) {
  return enter([&] {
    require_given(architecture);
    *architecture = properties_of(device).major == 8 ? NVML_DEVICE_ARCH_AMPERE : NVML_DEVICE_ARCH_UNKNOWN;
  });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return enter([&] {
    require_given(info);
    nvmlPciInfo_t described{};
    describe_pci(described, properties_of(device));
    std::snprintf(described.busIdLegacy, sizeof described.busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT,
                  NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(&described));
    *info = described;
  });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return nvmlDeviceGetPciInfo_v3(device, info);
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* info) {
  return enter([&] {
    require_given(info);
    require(info->version == nvmlPciInfoExt_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    nvmlPciInfoExt_t described{};
    described.version = info->version;
    describe_pci(described, properties_of(device));
    *info = described;
  });
}

}  // extern "C"
