// Kernels of an nvcc binary on the stand-in: bodies, arguments, order, what is said of those without a body.
#include "tests/standin/cuda_kernels.h"

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/standin/cuda_gate.h"

namespace {

struct KernelTest : CudaTest {
  void SetUp() override {
    unsetenv("STANDIN_KERNEL_NS");  // the user's
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&calls, sizeof(int)));
  }

  int counted() {
    int count = 0;
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&count, calls, sizeof count, cudaMemcpyDeviceToHost), cudaSuccess);
    return count;
  }

  cudaStream_t stream;
  int* calls;
};

TEST_F(KernelTest, BodyComputes) {
  constexpr int kCount = 1000;
  std::vector<float> host(kCount);
  std::iota(host.begin(), host.end(), 0.0F);
  float *x, *y;
  OK(cudaMalloc(&x, sizeof(float) * kCount));
  OK(cudaMalloc(&y, sizeof(float) * kCount));
  OK(cudaMemcpyAsync(x, host.data(), sizeof(float) * kCount, cudaMemcpyHostToDevice, stream));
  launch_saxpy(2, x, y, kCount, stream);
  launch_saxpy(0.5, x, y, kCount, stream);
  OK(cudaMemcpyAsync(host.data(), y, sizeof(float) * kCount, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host[999], 2.5F * 999);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(KernelTest, BodySeesTheShapeOfTheLaunch) {
  launch_count(calls, {2, 3, 4}, {5, 6, 7}, stream);
  EXPECT_EQ(counted(), 2 * 3 * 4 * 5 * 6 * 7);
}

TEST_F(KernelTest, RunsInStreamOrder) {
  OK(gate.put_into(stream));
  launch_count(calls, 1, 1, stream);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(counted(), 1);
}

// What a launch is given lives on the caller's stack, which changes before the body runs.
TEST_F(KernelTest, ArgumentsAreThoseOfTheLaunch) {
  float a = 3, *x, *y;
  int n = 1;
  cudaKernel_t kernel = nullptr;
  OK(cudaMallocManaged(&x, sizeof(float)));
  OK(cudaMallocManaged(&y, sizeof(float)));
  OK(cudaGetKernel(&kernel, saxpy_function()));
  *x = 4;
  const float* const result = y;
  void* args[] = {&a, &x, &y, &n};
  OK(gate.put_into(stream));
  OK(cudaLaunchKernel(saxpy_function(), 1, 1, args, 0, stream));
  OK(cudaLaunchKernel(kernel, 1, 1, args, 0, stream));
  a = 50, x = y = nullptr, n = 0;
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(*result, 24);
}

TEST_F(KernelTest, LaunchWithAttributesRunsTheSameBody) {
  float a = 3, *x, *y;
  int n = 1;
  OK(cudaMallocManaged(&x, sizeof(float)));
  OK(cudaMallocManaged(&y, sizeof(float)));
  *x = 4;
  void* args[] = {&a, &x, &y, &n};
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  config.stream = stream;
  OK(cudaLaunchKernelExC(&config, saxpy_function(), args));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(*y, 12);
}

TEST_F(KernelTest, WithoutBodyDoesNothingInStreamOrderAndIsNamedOnce) {
  testing::internal::CaptureStderr();
  OK(gate.put_into(stream));
  launch_without_body(calls, stream);
  launch_without_body(calls, stream);
  launch_count(calls, 1, 1, stream);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  gate.open();
  EXPECT_EQ(counted(), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "standin libcudart: kernel without_body has no CPU body and does nothing: values are not real\n");
}

TEST_F(KernelTest, WithoutBodyTakesAPlaceInTheStream) {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(gate.put_into(stream));
  launch_without_body(calls, stream);
  OK(cudaEventRecord(event, stream));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
}

TEST_F(KernelTest, ImpossibleLaunchesAreRefused) {
  launch_count(calls, 1, 1025, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  launch_count(calls, 0, 1, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  launch_count(calls, {1, 65536}, 1, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(&gate, 1, 1, nullptr, 0, stream), cudaErrorInvalidDeviceFunction);
  OK(cudaSetDevice(1));
  launch_count(calls, 1, 1, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(counted(), 0);
}

TEST_F(KernelTest, DeviceVariablesAreOneForHostAndBody) {
  int values[4] = {1, 2, 3, 4};
  OK(cudaMemcpyToSymbol(variable_symbol(), values, sizeof values, 0, cudaMemcpyHostToDevice));
  launch_raise_variable(stream);
  OK(cudaStreamSynchronize(stream));
  int third = 0;
  OK(cudaMemcpyFromSymbol(&third, variable_symbol(), sizeof third, 2 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(third, 4);
  std::size_t bytes = 0;
  OK(cudaGetSymbolSize(&bytes, variable_symbol()));
  EXPECT_EQ(bytes, sizeof values);
  EXPECT_EQ(cudaMemcpyToSymbol(variable_symbol(), values, 4, 13, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&gate, values, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  EXPECT_EQ(managed_variable(), 1);
}

TEST_F(KernelTest, FunctionsAnswerForThemselves) {
  const char* name = nullptr;
  cudaFuncAttributes attributes;
  int blocks = 0;
  OK(cudaFuncGetName(&name, saxpy_function()));
  EXPECT_STREQ(name, "_Z5saxpyfPKfPfi");
  OK(cudaFuncGetAttributes(&attributes, saxpy_function()));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, saxpy_function(), 256, 0));
  EXPECT_EQ(blocks, 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, saxpy_function(), 256, 81 << 10));
  EXPECT_EQ(blocks, 2);
}

TEST_F(KernelTest, PerThreadDefaultStreamIsUsedWhereTheFileSaysSo) {
  OK(gate.put_into(stream));
  int counted_there = 0;
  per_thread_count(&counted_there);
  EXPECT_EQ(counted_there, 64);
  Gate legacy;
  OK(legacy.put_into(nullptr));
  EXPECT_EQ(per_thread_query(), cudaSuccess);  // not the legacy stream's state
  legacy.open();
  Gate own;
  OK(own.put_into(cudaStreamPerThread));
  EXPECT_EQ(per_thread_query(), cudaErrorNotReady);
}

// The model holds back only the kernels it names: at least that long, measured by the stream itself.
TEST_F(KernelTest, ModelledKernelTakesAtLeastItsTime) {
  setenv("STANDIN_KERNEL_NS", "axp=30000000,body=1000000", 1);
  cudaEvent_t events[3];
  for (cudaEvent_t& event : events) OK(cudaEventCreate(&event));
  float *x, ms = 0;
  OK(cudaMalloc(&x, sizeof(float)));
  OK(cudaEventRecord(events[0], stream));
  launch_saxpy(1, x, x, 1, stream);
  OK(cudaEventRecord(events[1], stream));
  launch_without_body(calls, stream);
  OK(cudaEventRecord(events[2], stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaEventElapsedTime(&ms, events[0], events[1]));
  EXPECT_GE(ms, 30.0F);
  OK(cudaEventElapsedTime(&ms, events[1], events[2]));
  EXPECT_GE(ms, 1.0F);
}

}  // namespace
