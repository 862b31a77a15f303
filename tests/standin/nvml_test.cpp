// libnvidia-ml.so.1, as a program uses it that was compiled with nvml.h, beside the runtime.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nvml.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

TEST(NvmlBeforeInit, RefusesUntilInitialisedAndAfterTheLastShutdown) {
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetCount(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(nvmlInit(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInit(), NVML_SUCCESS);
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetCount(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 8u);
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount(&count), NVML_ERROR_UNINITIALIZED);
}

// CUDA sees devices 3 and 1 of the host.
class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "3,1", 1), 0);
    ASSERT_EQ(nvmlInit(), NVML_SUCCESS);
  }

  static nvmlDevice_t device(unsigned index) {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex(index, &handle), NVML_SUCCESS);
    return handle;
  }

  static unsigned index_of(nvmlDevice_t handle) {
    unsigned index = 99;
    EXPECT_EQ(nvmlDeviceGetIndex(handle, &index), NVML_SUCCESS);
    return index;
  }

  static unsigned long long used(unsigned index) {
    nvmlMemory_t memory{};
    EXPECT_EQ(nvmlDeviceGetMemoryInfo(device(index), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.used + memory.free, memory.total);
    return memory.used;
  }

  static unsigned processes(unsigned index) {
    unsigned count = 0;
    const nvmlReturn_t result = nvmlDeviceGetComputeRunningProcesses(device(index), &count, nullptr);
    EXPECT_EQ(result, count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
    return count;
  }
};

TEST_F(Nvml, ADeviceIsTheOneThatTheRuntimeDescribes) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  char id[64];
  ASSERT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, 0), cudaSuccess);
  nvmlDevice_t found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByPciBusId(id, &found), NVML_SUCCESS);
  EXPECT_EQ(index_of(found), 3u) << "the first that CUDA_VISIBLE_DEVICES leaves";

  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  ASSERT_EQ(nvmlDeviceGetName(found, name, sizeof name), NVML_SUCCESS);
  EXPECT_STREQ(name, properties.name);
  nvmlPciInfo_t pci{};
  ASSERT_EQ(nvmlDeviceGetPciInfo(found, &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busIdLegacy, id);
  EXPECT_EQ(pci.busId, "0000" + std::string(id));
  EXPECT_EQ(pci.bus, static_cast<unsigned>(properties.pciBusID));
  nvmlPciInfoExt_t extended{};
  EXPECT_EQ(nvmlDeviceGetPciInfoExt(found, &extended), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  extended.version = nvmlPciInfoExt_v1;
  ASSERT_EQ(nvmlDeviceGetPciInfoExt(found, &extended), NVML_SUCCESS);
  EXPECT_STREQ(extended.busId, pci.busId);
  nvmlUUID_t uuid{.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_BINARY, .value = {}};
  std::copy_n(properties.uuid.bytes, sizeof uuid.value.bytes, uuid.value.bytes);
  ASSERT_EQ(nvmlDeviceGetHandleByUUIDV(&uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(index_of(found), 3u);
  nvmlMemory_t memory{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(found, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, properties.totalGlobalMem);
  int major = 0, minor = 0, version = 0, of_runtime = 0;
  ASSERT_EQ(nvmlDeviceGetCudaComputeCapability(found, &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major * 10 + minor, properties.major * 10 + properties.minor);
  ASSERT_EQ(nvmlSystemGetCudaDriverVersion(&version), NVML_SUCCESS);
  ASSERT_EQ(cudaDriverGetVersion(&of_runtime), cudaSuccess);
  EXPECT_EQ(version, of_runtime);
}

TEST_F(Nvml, FindsADeviceByTheUuidThatItGives) {
  char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
  ASSERT_EQ(nvmlDeviceGetUUID(device(5), uuid, sizeof uuid), NVML_SUCCESS);
  EXPECT_EQ(std::string(uuid).substr(0, 4), "GPU-");
  EXPECT_EQ(std::string(uuid).size(), 40u);
  nvmlDevice_t found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(found, device(5));
  EXPECT_EQ(nvmlDeviceGetUUID(device(5), uuid, 40), NVML_ERROR_INSUFFICIENT_SIZE);
}

TEST_F(Nvml, RefusesWhatIsNoDevice) {
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByIndex(8, &found), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-0", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId("00000000:FF:00.0", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId("no", &found), NVML_ERROR_INVALID_ARGUMENT);
  unsigned index = 0;
  EXPECT_EQ(nvmlDeviceGetIndex(nullptr, &index), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetIndex(device(0), nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Nvml, MemoryAndProcessesAreThoseOfTheRuntime) {
  EXPECT_EQ(used(3), 0u);
  EXPECT_EQ(processes(3), 0u);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1 << 20), cudaSuccess);
  EXPECT_EQ(used(3), 1u << 20);
  EXPECT_EQ(used(0), 0u) << "number 0 of the runtime is number 3 of the host";
  ASSERT_EQ(processes(3), 1u);
  EXPECT_EQ(processes(1), 0u);
  unsigned count = 4;
  nvmlProcessInfo_t infos[4];
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses(device(3), &count, infos), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(infos[0].usedGpuMemory, 1u << 20);
  nvmlMemory_v2_t versioned{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device(3), &versioned), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  versioned.version = nvmlMemory_v2;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(device(3), &versioned), NVML_SUCCESS);
  EXPECT_EQ(versioned.used, 1u << 20);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(used(3), 0u);
}

TEST_F(Nvml, ToAskIsNotToUseTheRuntime) {
  EXPECT_EQ(used(3), 0u);
  EXPECT_EQ(processes(3), 0u);
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "6", 1), 0);
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    const bool works = cudaGetDeviceCount(&count) == cudaSuccess && count == 1;
    cudaDeviceProp properties{};
    _exit(works && cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.pciBusID == 7 ? 0
                                                                                                      : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a child after the first question may use CUDA, and the variable may still change";
}

TEST_F(Nvml, DevicesAreAllAsFarFromEachOther) {
  nvmlGpuTopologyLevel_t level{};
  ASSERT_EQ(nvmlDeviceGetTopologyCommonAncestor(device(0), device(1), &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_SYSTEM);
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetTopologyNearestGpus(device(2), level, &count, nullptr), NVML_SUCCESS);
  ASSERT_EQ(count, 7u);
  std::vector<nvmlDevice_t> others(count);
  ASSERT_EQ(nvmlDeviceGetTopologyNearestGpus(device(2), level, &count, others.data()), NVML_SUCCESS);
  EXPECT_EQ(std::count(others.begin(), others.end(), device(2)), 0);
  EXPECT_EQ(others.back(), device(7));
  nvmlGpuP2PStatus_t status{};
  ASSERT_EQ(nvmlDeviceGetP2PStatus(device(0), device(1), NVML_P2P_CAPS_INDEX_READ, &status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_OK);
  ASSERT_EQ(nvmlDeviceGetP2PStatus(device(0), device(1), NVML_P2P_CAPS_INDEX_NVLINK, &status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_NOT_SUPPORTED);
  unsigned long cpus[2];
  ASSERT_EQ(nvmlDeviceGetCpuAffinity(device(0), 2, cpus), NVML_SUCCESS);
  EXPECT_EQ(cpus[0] & 1, 1u);
}

TEST_F(Nvml, AMeasurementIsRefusedOnceAloud) {
  testing::internal::CaptureStderr();
  unsigned value = 0;
  EXPECT_EQ(nvmlDeviceGetPowerUsage(device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("libnvidia-ml: nvmlDeviceGetPowerUsage is not provided"), said.npos) << said;
  EXPECT_NE(said.find("nvml_standin_test asked and got NVML_ERROR_NOT_SUPPORTED"), said.npos) << said;
}

TEST_F(Nvml, APartThatIsAbsentIsRefusedInSilence) {
  testing::internal::CaptureStderr();
  nvmlEnableState_t state{};
  EXPECT_EQ(nvmlDeviceGetNvLinkState(device(0), 0, &state), NVML_ERROR_NOT_SUPPORTED);
  nvmlGpuFabricInfoV_t fabric{};
  EXPECT_EQ(nvmlDeviceGetGpuFabricInfoV(device(0), &fabric), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetEccMode(device(0), &state, &state), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Nvml, DescribesErrors) {
  EXPECT_STREQ(nvmlErrorString(NVML_SUCCESS), "Success");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "Gpu Is Lost");
  EXPECT_STREQ(nvmlErrorString(static_cast<nvmlReturn_t>(777)), "Unknown");
}

}  // namespace
