// Finding the runtime: never by linking, so that a process that only asks NVML loads it with its first
// question.
#include "standin/nvml/host.h"

#include <cstdint>

#include "standin/cuda/find_runtime.h"
#include "standin/nvml/boundary.h"

namespace ddpscope::standin::nvml {

const Runtime& runtime() {
  const Runtime* known = find_runtime_for("libnvidia-ml", "it has no devices");
  if (!known) throw Failure{NVML_ERROR_DRIVER_NOT_LOADED};
  return *known;
}

unsigned int device_count() { return static_cast<unsigned int>(runtime().devices_of_host()); }

// A handle is the device's index plus one: never null, and one that is made up is found out.
nvmlDevice_t device_at(unsigned int index) {
  require(index < device_count(), NVML_ERROR_INVALID_ARGUMENT);
  return reinterpret_cast<nvmlDevice_t>(std::uintptr_t{index} + 1);
}

unsigned int index_of(nvmlDevice_t device) {
  const std::uintptr_t index = reinterpret_cast<std::uintptr_t>(device) - 1;
  require(index < device_count(), NVML_ERROR_INVALID_ARGUMENT);
  return static_cast<unsigned int>(index);
}

cudaDeviceProp properties_of(nvmlDevice_t device) {
  return runtime().describe(static_cast<int>(index_of(device)));
}

}  // namespace ddpscope::standin::nvml
