// libcuda.so.1, as a program uses it that was compiled with cuda.h, beside the runtime.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

TEST(DriverBeforeInit, RefusesUntilInitialised) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  int of_runtime = 0;
  ASSERT_EQ(cudaGetDeviceCount(&of_runtime), cudaSuccess);
  EXPECT_EQ(count, of_runtime);
}

TEST(DriverBeforeInit, TheRuntimesFirstUseInitialises) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
}

class Driver : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cuInit(0), CUDA_SUCCESS); }
};

bool is_active(CUdevice device) {
  unsigned flags = 0;
  int active = -1;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
  return active == 1;
}

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(Driver, DescribesDevicesAsTheRuntimeDoes) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  CUdevice device = -1;
  ASSERT_EQ(cuDeviceGet(&device, 1), CUDA_SUCCESS);
  char name[256];
  ASSERT_EQ(cuDeviceGetName(name, sizeof name, device), CUDA_SUCCESS);
  EXPECT_STREQ(name, properties.name);
  size_t bytes = 0;
  ASSERT_EQ(cuDeviceTotalMem(&bytes, device), CUDA_SUCCESS);
  EXPECT_EQ(bytes, properties.totalGlobalMem);
  int processors = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
            CUDA_SUCCESS);
  EXPECT_EQ(processors, properties.multiProcessorCount);
  EXPECT_EQ(cuDeviceGet(&device, 99), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Driver, ADeviceIsActiveOnceItIsUsed) {
  EXPECT_FALSE(is_active(0));
  EXPECT_EQ(current(), nullptr);
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_FALSE(is_active(0)) << "to ask is not to use";
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_TRUE(is_active(0));
  EXPECT_FALSE(is_active(1));
  CUcontext retained = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&retained, 0), CUDA_SUCCESS);
  EXPECT_EQ(current(), retained);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_TRUE(is_active(1));
  EXPECT_NE(current(), retained);
}

TEST_F(Driver, AThreadHasAContextOnceItUsesADevice) {
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  std::thread([] {
    EXPECT_EQ(current(), nullptr);
    CUdevice device = -1;
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
  }).join();
}

TEST_F(Driver, ContextsAreAStackOverTheRuntimesDevice) {
  CUcontext first = nullptr, second = nullptr, popped = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 3), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(second), CUDA_SUCCESS);
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 3);
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, second);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&device)), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, first);
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, AContextThatWasTakenAwayComesBackWithTheRuntimesNextChoice) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(current(), nullptr);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_NE(current(), nullptr);
}

TEST_F(Driver, DescribesPointers) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  void *on_device = nullptr, *on_host = nullptr;
  ASSERT_EQ(cudaMalloc(&on_device, 1 << 20), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&on_host, 64), cudaSuccess);
  CUmemorytype type{};
  const auto device_pointer = reinterpret_cast<CUdeviceptr>(on_device);
  ASSERT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_pointer + 100),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  CUcontext context = nullptr;
  ASSERT_EQ(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device_pointer), CUDA_SUCCESS);
  EXPECT_EQ(context, current());

  int ordinal = -1;
  void* host_pointer = nullptr;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* answers[] = {&type, &ordinal, &host_pointer};
  ASSERT_EQ(cuPointerGetAttributes(3, asked, answers, reinterpret_cast<CUdeviceptr>(on_host)), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(host_pointer, on_host);

  int local = 0;
  const auto pageable = reinterpret_cast<CUdeviceptr>(&local);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pageable),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuPointerGetAttributes(3, asked, answers, pageable), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_EQ(host_pointer, nullptr);
}

TEST_F(Driver, NamesAndDescribesErrors) {
  const char* text = nullptr;
  ASSERT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_CONTEXT");
  ASSERT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(123456), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(Driver, ItsErrorsAreNotTheRuntimesLast) {
  char id[2];
  EXPECT_NE(cuDeviceGetPCIBusId(id, sizeof id, 0), CUDA_SUCCESS);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Driver, FindsFunctionsByName) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  ASSERT_EQ(
      cuGetProcAddress("cuDeviceTotalMem", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status),
      CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuDeviceTotalMem)) << "the version that is current in cuda.h";
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(
      cuGetProcAddress("cuNoSuchFunction", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status),
      CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_F(Driver, TheRuntimeFindsItsFunctionsToo) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status{};
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, CUDART_VERSION, cudaEnableDefault,
                                             &status),
            cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxGetCurrent));
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, CUDART_VERSION, cudaEnableDefault,
                                             &status),
            cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
}

std::string standard_error_of(void (*body)()) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST_F(Driver, SaysOnceWhoAskedForWhatIsNotProvided) {
  const auto ask = [] { EXPECT_EQ(cuMulticastCreate(nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED); };
  const std::string said = standard_error_of(ask);
  EXPECT_TRUE(said.starts_with("standin libcuda: cuMulticastCreate is not provided; ")) << said;
  EXPECT_NE(said.find("driver_standin_test asked and got CUDA_ERROR_NOT_SUPPORTED\n"), std::string::npos)
      << said;
  EXPECT_EQ(standard_error_of(ask), "");
}

}  // namespace
