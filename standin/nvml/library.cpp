// Entry points for the library itself: initialisation, versions, names of processes.
#include <cuda.h>

#include <fstream>
#include <string>

#include "standin/nvml/boundary.h"
#include "standin/nvml/host.h"

using namespace ddpscope::standin::nvml;

namespace {

// The first driver for CUDA 13: programs compare the version with the oldest that they run with.
constexpr const char* kDriverVersion = "580.65.06";

}  // namespace

extern "C" {

nvmlReturn_t nvmlInitWithFlags([[maybe_unused]] unsigned int flags) {
  return guarded([] {
    runtime();
    initialise();
  });
}

nvmlReturn_t nvmlInit_v2() { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlInit() { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlShutdown() { return guarded(shut_down); }

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return enter([&] { write_text(version, length, kDriverVersion); });
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return enter(
      [&] { write_text(version, length, std::to_string(CUDA_VERSION / 1000) + "." + kDriverVersion); });
}

// Works before initialisation (nvml.h lists no NVML_ERROR_UNINITIALIZED).
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return guarded([&] {
    require_given(version);
    *version = CUDA_VERSION;  // as the runtime says, which is built with the same header
  });
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  return enter([&] {
    require_given(name);
    require(length > 0, NVML_ERROR_INVALID_ARGUMENT);
    std::ifstream arguments("/proc/" + std::to_string(pid) + "/cmdline");
    std::string program;
    require(static_cast<bool>(std::getline(arguments, program, '\0')), NVML_ERROR_NOT_FOUND);
    write_text(name, length, program.substr(0, length - 1));
  });
}

}  // extern "C"
