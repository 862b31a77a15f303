// Entry points that say who uses a device, and how much of its memory. Only this process is known: its
// allocations in the stand-in runtime, as cudaMemGetInfo counts them.
#include <unistd.h>

#include <cstddef>

#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

struct Usage {
  bool active = false;
  std::size_t bytes = 0;
};

Usage usage_of(nvmlDevice_t device) {
  Usage usage;
  usage.active = runtime().usage(static_cast<int>(index_of(device)), &usage.bytes);
  return usage;
}

template <class Memory>
void describe_memory(Memory& memory, nvmlDevice_t device) {
  memory.total = properties_of(device).totalGlobalMem;
  memory.used = usage_of(device).bytes;
  memory.free = memory.total - memory.used;
}

void describe_process(nvmlProcessInfo_v1_t& info, const Usage& usage) {
  info = {.pid = static_cast<unsigned int>(getpid()), .usedGpuMemory = usage.bytes};
}

void describe_process(nvmlProcessInfo_v2_t& info, const Usage& usage) {
  constexpr unsigned int kNoMig = 0xffffffff;
  info = {.pid = static_cast<unsigned int>(getpid()),
          .usedGpuMemory = usage.bytes,
          .gpuInstanceId = kNoMig,
          .computeInstanceId = kNoMig};
}

template <class Info>
nvmlReturn_t list_processes(nvmlDevice_t device, unsigned int* count, Info* infos) {
  return enter([&] {
    require_given(count);
    const Usage usage = usage_of(device);
    const unsigned int room = *count;
    *count = usage.active ? 1 : 0;
    require(room >= *count, NVML_ERROR_INSUFFICIENT_SIZE);
    if (!usage.active) return;
    require_given(infos);
    describe_process(*infos, usage);
  });
}

// Neither draws anything nor runs under MPS.
nvmlReturn_t list_nobody(nvmlDevice_t device, unsigned int* count) {
  return enter([&] {
    index_of(device);
    require_given(count);
    *count = 0;
  });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return enter([&] {
    require_given(memory);
    describe_memory(*memory, device);
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return enter([&] {
    require_given(memory);
    require(memory->version == nvmlMemory_v2, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    describe_memory(*memory, device);
    memory->reserved = 0;
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
  return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return list_processes(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t*) {
  return list_nobody(device, count);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return enter([&] {
    index_of(device);
    require_given(mode);
    *mode = NVML_COMPUTEMODE_DEFAULT;  // any number of processes at a time
  });
}

}  // extern "C"
