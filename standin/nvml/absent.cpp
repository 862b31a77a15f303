// Entry points for parts that the devices do not have, as many GPUs do not: NVLink, its fabric, MIG, ECC. The
// answer is complete, so nothing is said on standard error.
#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

nvmlReturn_t absent_from(nvmlDevice_t device) {
  return enter([&] {
    index_of(device);
    throw Failure{NVML_ERROR_NOT_SUPPORTED};
  });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int, nvmlEnableState_t*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int, unsigned int*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int, nvmlNvLinkCapability_t,
                                           unsigned int*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int, nvmlPciInfo_t*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int, nvmlPciInfo_t*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int,
                                                 nvmlIntNvLinkDeviceType_t*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int*, unsigned int*) {
  return absent_from(device);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* is_mig) {
  return enter([&] {
    index_of(device);
    require_given(is_mig);
    *is_mig = 0;
  });
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t*, nvmlEnableState_t*) {
  return absent_from(device);
}

}  // extern "C"
