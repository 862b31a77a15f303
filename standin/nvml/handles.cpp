// Entry points that count devices and find them, by index, UUID or PCI bus id.
#include <cstdio>
#include <cstring>
#include <string>

#include "standin/cuda/uuid_text.h"
#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

struct PciAddress {
  unsigned int domain = 0, bus = 0, device = 0;

  friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

// "00000000:01:00.0", in as many digits as the program likes; programs leave out the domain.
PciAddress parse_pci_address(const char* text) {
  PciAddress address;
  if (std::sscanf(text, "%x:%x:%x", &address.domain, &address.bus, &address.device) == 3) return address;
  address = {};
  require(std::sscanf(text, "%x:%x", &address.bus, &address.device) == 2, NVML_ERROR_INVALID_ARGUMENT);
  return address;
}

template <class Fits>
nvmlDevice_t find_device(Fits&& fits) {
  for (unsigned int index = 0; index < device_count(); ++index) {
    if (fits(properties_of(device_at(index)))) return device_at(index);
  }
  throw Failure{NVML_ERROR_NOT_FOUND};
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  return enter([&] {
    require_given(count);
    *count = device_count();
  });
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  return enter([&] {
    require_given(device);
    *device = device_at(index);
  });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return enter([&] {
    require_given(uuid, device);
    *device = find_device([&](const cudaDeviceProp& candidate) {
      return ddpscope::standin::uuid_text(candidate.uuid) == uuid;
    });
  });
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  return enter([&] {
    require_given(uuid, device);
    require(uuid->version == nvmlUUID_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    require(uuid->type == NVML_UUID_TYPE_ASCII || uuid->type == NVML_UUID_TYPE_BINARY,
            NVML_ERROR_INVALID_ARGUMENT);
    *device = find_device([&](const cudaDeviceProp& candidate) {
      if (uuid->type == NVML_UUID_TYPE_BINARY)
        return std::memcmp(candidate.uuid.bytes, uuid->value.bytes, sizeof candidate.uuid.bytes) == 0;
      return ddpscope::standin::uuid_text(candidate.uuid) == uuid->value.str;
    });
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  return enter([&] {
    require_given(id, device);
    const PciAddress wanted = parse_pci_address(id);
    *device = find_device([&](const cudaDeviceProp& candidate) {
      return wanted == PciAddress{static_cast<unsigned int>(candidate.pciDomainID),
                                  static_cast<unsigned int>(candidate.pciBusID),
                                  static_cast<unsigned int>(candidate.pciDeviceID)};
    });
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(id, device);
}

}  // extern "C"
