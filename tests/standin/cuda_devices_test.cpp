// Devices of the stand-in, and which of them CUDA_VISIBLE_DEVICES leaves. The variable is read at first use,
// so each list is tried in a process of its own.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "tests/standin/cuda_gate.h"

namespace {

std::string uuid_of(int device) {
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  return std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
}

std::string uuid_text(int device) {
  std::string text = "GPU-";
  const std::string bytes = uuid_of(device);
  for (int i = 0; i < 16; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(bytes[i]));
    text += hex;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

// The physical devices that are visible, as digits, in their order: the bus numbers are theirs plus one.
std::string visible() {
  int count = 0;
  std::string physical;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return "none";
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
    physical += std::to_string(properties.pciBusID - 1);
  }
  return physical;
}

TEST(DeviceTest, VisibleDevicesLeavesWhatItLists) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr std::pair<const char*, const char*> kLists[] = {
      {"0", "0"},
      {"5,2", "52"},
      {" 1 , 3 ", "13"},
      {"0,1,2,3,4,5,6,7", "01234567"},
      {"", "none"},
      {"-1", "none"},
      {"NoDevFiles", "none"},
      {"3,-1,4", "3"},
      {"3,8,4", "3"},
      {"1,1", "none"},
      {"GPU-", "none"},  // fits all
      {"GPU-43505520-7374-616e-642d-696e20646506,0", "60"},
  };
  for (const auto& [list, expected] : kLists) {
    EXPECT_EXIT(
        {
          setenv("CUDA_VISIBLE_DEVICES", list, 1);
          std::fprintf(stderr, "visible: %s.\n", visible().c_str());
          std::exit(0);
        },
        testing::ExitedWithCode(0), std::string("visible: ") + expected + "\\.")
        << "CUDA_VISIBLE_DEVICES=" << list;
  }
}

TEST(DeviceTest, TheHostHasAsManyAsItIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Case {
    const char *devices, *visible;
    int count;
    const char* said;
  };
  constexpr Case kCases[] = {
      {"1", nullptr, 1, "^$"},
      {"16", nullptr, 16, "^$"},
      {"64", nullptr, 64, "^$"},
      {"16", "15,12", 2, "^$"},
      {"2", "0,2,1", 1, "^$"},
      {"65", nullptr, 0, "STANDIN_DEVICES is \"65\", which is no number from 1 to 64: there is no device"},
      {"0", nullptr, 0, "no number from 1 to 64"},
      {"8x", nullptr, 0, "no number from 1 to 64"},
      {"", nullptr, 0, "no number from 1 to 64"},
  };
  for (const auto& [devices, list, expected, said] : kCases) {
    EXPECT_EXIT(
        {
          setenv("STANDIN_DEVICES", devices, 1);
          if (list) setenv("CUDA_VISIBLE_DEVICES", list, 1);
          int count = -1;
          int can = 0;
          cudaGetDeviceCount(&count);
          const bool last_works = count == 0 || cudaSetDevice(count - 1) == cudaSuccess;
          const bool peers = count < 2 || (cudaDeviceEnablePeerAccess(count - 2, 0) == cudaSuccess &&
                                           cudaDeviceCanAccessPeer(&can, 0, count - 1) == cudaSuccess && can);
          std::exit(count == expected && last_works && peers ? 0 : 1);
        },
        testing::ExitedWithCode(0), said)
        << "STANDIN_DEVICES=" << devices;
  }
}

TEST(DeviceTest, UuidsAreFixedAndDiffer) {
  std::set<std::string> uuids;
  for (int device = 0; device < 8; ++device) uuids.insert(uuid_of(device));
  EXPECT_EQ(uuids.size(), 8U);
  EXPECT_EQ(uuid_text(6), "GPU-43505520-7374-616e-642d-696e20646506");
}

TEST(DeviceTest, NothingVisibleIsNoDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("CUDA_VISIBLE_DEVICES", "", 1);
        int count = -1;
        void* pointer;
        const bool none = cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0 &&
                          cudaMalloc(&pointer, 4) == cudaErrorNoDevice;
        std::exit(none ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(DeviceTest, EveryThreadHasItsOwnCurrentDevice) {
  OK(cudaSetDevice(5));
  std::thread([] {
    int device = -1;
    OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    OK(cudaSetDevice(2));
  }).join();
  int device = -1;
  OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 5);
  EXPECT_EQ(cudaSetDevice(8), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 5);
}

TEST(DeviceTest, AttributesAgreeWithProperties) {
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 1));
  const auto attribute = [](cudaDeviceAttr attr) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, attr, 1), cudaSuccess);
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), properties.major);
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrWarpSize), 32);
  EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), properties.maxThreadsPerBlock);
  EXPECT_EQ(attribute(cudaDevAttrPciBusId), properties.pciBusID);
  EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), properties.maxThreadsDim[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxGridDimX), properties.maxGridSize[0]);
  EXPECT_EQ(attribute(cudaDevAttrMaxGridDimY), properties.maxGridSize[1]);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlock), static_cast<int>(properties.sharedMemPerBlock));
  EXPECT_EQ(attribute(cudaDevAttrClusterLaunch), 0);
  int value;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 8), cudaErrorInvalidDevice);
}

TEST(DeviceTest, BusIdsLeadBackToTheirDevice) {
  char id[20];
  int device = -1;
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 6));
  OK(cudaDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 6);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "0000:7F:00.0"), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, 5, 6), cudaErrorInvalidValue);
}

TEST(DeviceTest, PeerAccessIsSwitchedPerPair) {
  int can = 0;
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  OK(cudaDeviceDisablePeerAccess(1));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
}

TEST(ErrorTest, LastErrorStaysUntilItIsFetched) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  int device;
  OK(cudaGetDevice(&device));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(-5)), "unrecognized error code");
}

}  // namespace
