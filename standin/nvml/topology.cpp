// Entry points that say what is near to what. Devices are memory and threads of the host: each is as far from
// another, and from every CPU, as from the next.
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

constexpr unsigned int kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;

void require_two(nvmlDevice_t one, nvmlDevice_t other) {
  require(index_of(one) != index_of(other), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace

extern "C" {

// The only level that holds for any two devices of any host.
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t* level) {
  return enter([&] {
    require_two(one, other);
    require_given(level);
    *level = NVML_TOPOLOGY_SYSTEM;
  });
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned int* count, nvmlDevice_t* devices) {
  return enter([&] {
    const unsigned int self = index_of(device);
    require_given(count);
    const unsigned int room = *count;
    *count = level == NVML_TOPOLOGY_SYSTEM ? device_count() - 1 : 0;
    if (room == 0) return;  // the program asks how many there are
    require_given(devices);
    require(room >= *count, NVML_ERROR_INSUFFICIENT_SIZE);
    for (unsigned int i = 0; i < *count; ++i) devices[i] = device_at(i < self ? i : i + 1);
  });
}

// As cudaDeviceGetP2PAttribute says: access, and neither atomics nor a link of its own.
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t capability,
                                    nvmlGpuP2PStatus_t* status) {
  return enter([&] {
    require_two(one, other);
    require_given(status);
    const bool access = capability == NVML_P2P_CAPS_INDEX_READ || capability == NVML_P2P_CAPS_INDEX_WRITE;
    *status = access ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
  });
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long* cpus) {
  return enter([&] {
    index_of(device);
    require_given(cpus);
    require(words > 0, NVML_ERROR_INVALID_ARGUMENT);
    std::fill_n(cpus, words, 0ul);
    const auto all = static_cast<unsigned int>(sysconf(_SC_NPROCESSORS_CONF));
    for (unsigned int cpu = 0; cpu < std::min(all, words * kBitsPerWord); ++cpu)
      cpus[cpu / kBitsPerWord] |= 1ul << cpu % kBitsPerWord;
  });
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long* cpus,
                                                 nvmlAffinityScope_t) {
  return nvmlDeviceGetCpuAffinity(device, words, cpus);
}

}  // extern "C"
