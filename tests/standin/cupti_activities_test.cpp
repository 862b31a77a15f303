// What CUPTI records of kernels, copies, fills and waits. Nothing here needs a stand-in: it holds on a GPU,
// too.
#include "tests/standin/cuda_kernels.h"
#include "tests/standin/cupti_client.h"

namespace {

struct Activities : CuptiTest {
  void SetUp() override {
    CuptiTest::SetUp();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(reinterpret_cast<void**>(&x), kBytes));
    OK(cudaMalloc(reinterpret_cast<void**>(&y), kBytes));
  }

  static constexpr std::size_t kBytes = 4096;
  cudaStream_t stream;
  float *x, *y;
};

TEST_F(Activities, KernelHasItsNamePlaceShapeAndTimes) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
  const std::uint64_t before = now();
  launch_saxpy(2, x, y, 1000, stream);
  finish();
  const std::uint64_t after = now();

  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 1U);
  const CUpti_ActivityKernel10& kernel = kernels[0];
  EXPECT_STREQ(kernel.name, "_Z5saxpyfPKfPfi");
  EXPECT_EQ(kernel.deviceId, 0U);
  EXPECT_EQ(kernel.streamId, id_of(stream));
  EXPECT_EQ(kernel.gridX, 4);
  EXPECT_EQ(kernel.gridY, 1);
  EXPECT_EQ(kernel.blockX, 256);
  EXPECT_EQ(kernel.queued, CUPTI_TIMESTAMP_UNKNOWN);
  EXPECT_LE(before, kernel.start);
  EXPECT_LT(0U, kernel.start);
  EXPECT_LE(kernel.start, kernel.end);
  EXPECT_LE(kernel.end, after);

  const CUpti_ActivityAPI launch = call_with(kernel.correlationId);
  const char* name = nullptr;
  CU(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, launch.cbid, &name));
  EXPECT_NE(std::string(name).find("LaunchKernel"), std::string::npos) << name;
  EXPECT_LE(before, launch.start);
  EXPECT_LE(launch.start, kernel.start);
  EXPECT_LE(launch.start, launch.end);
  EXPECT_EQ(launch.returnValue, 0U);
  EXPECT_EQ(launch.processId, static_cast<std::uint32_t>(getpid()));
}

TEST_F(Activities, KernelsOfAStreamFollowEachOther) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (int i = 0; i < 50; ++i) launch_saxpy(2, x, y, 1000, stream);
  finish();
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 50U);
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_LE(kernels[i - 1].end, kernels[i].start);
    EXPECT_LT(kernels[i - 1].correlationId, kernels[i].correlationId);
    EXPECT_NE(kernels[i - 1].gridId, kernels[i].gridId);
  }
}

// The kernel starts when the stream comes to it, not when it was launched.
TEST_F(Activities, KernelStartsAfterWhatItsStreamWaitsFor) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  OK(gate.put_into(stream));
  CU(cuptiActivityEnableLatencyTimestamps(1));
  launch_saxpy(2, x, y, 1000, stream);
  const std::uint64_t launched = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::uint64_t opened = now();
  gate.open();
  finish();
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_GE(kernels[0].start, opened);
  EXPECT_LE(kernels[0].queued, launched);
  EXPECT_GT(kernels[0].queued, 0U);
  EXPECT_LE(kernels[0].queued, kernels[0].submitted);
}

TEST_F(Activities, EventsEncloseTheKernelBetweenThem) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  cudaEvent_t first, last;
  OK(cudaEventCreate(&first));
  OK(cudaEventCreate(&last));
  OK(cudaEventRecord(first, stream));
  launch_saxpy(2, x, y, 1000, stream);
  OK(cudaEventRecord(last, stream));
  finish();
  float ms = 0;
  OK(cudaEventElapsedTime(&ms, first, last));
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_LE(static_cast<double>(kernels[0].end - kernels[0].start), 1e6 * ms * 1.01 + 1000);
}

TEST_F(Activities, CopiesTellDirectionMemoryAndSize) {
  enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_RUNTIME});
  std::vector<float> pageable(kBytes / sizeof(float));
  float* pinned = nullptr;
  OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), kBytes));
  OK(cudaMemcpy(x, pageable.data(), kBytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(pinned, x, kBytes / 2, cudaMemcpyDeviceToHost, stream));
  OK(cudaMemcpyAsync(y, x, kBytes / 4, cudaMemcpyDeviceToDevice, stream));
  finish();
  const auto copies = trace().records<CUpti_ActivityMemcpy6>();
  ASSERT_EQ(copies.size(), 3U);

  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(copies[0].bytes, kBytes);
  EXPECT_EQ(copies[0].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, 0);
  EXPECT_EQ(copies[0].streamId, id_of(nullptr));

  EXPECT_EQ(copies[1].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[1].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(copies[1].bytes, kBytes / 2);
  EXPECT_EQ(copies[1].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  EXPECT_EQ(copies[1].streamId, id_of(stream));
  EXPECT_EQ(call_with(copies[1].correlationId).cbid, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);

  EXPECT_EQ(copies[2].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  EXPECT_EQ(copies[2].bytes, kBytes / 4);
  EXPECT_LE(copies[1].start, copies[1].end);
  EXPECT_LE(copies[1].end, copies[2].start);
}

TEST_F(Activities, CopiesBetweenDevicesAreAKindOfTheirOwn) {
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "one device";
  OK(cudaSetDevice(1));
  void* there = nullptr;
  OK(cudaMalloc(&there, kBytes));
  OK(cudaSetDevice(0));
  enable({CUPTI_ACTIVITY_KIND_MEMCPY2});
  OK(cudaMemcpyPeerAsync(there, 1, x, 0, kBytes, stream));
  finish();
  const auto copies = trace().records<CUpti_ActivityMemcpyPtoP4>();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  EXPECT_EQ(copies[0].srcDeviceId, 0U);
  EXPECT_EQ(copies[0].dstDeviceId, 1U);
  EXPECT_NE(copies[0].srcContextId, copies[0].dstContextId);
  EXPECT_EQ(copies[0].bytes, kBytes);
}

TEST_F(Activities, FillsTellValueAndSize) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  OK(cudaMemset(x, 0x41, 100));
  OK(cudaMemsetAsync(y, 7, 200, stream));
  finish();
  const auto fills = trace().records<CUpti_ActivityMemset4>();
  ASSERT_EQ(fills.size(), 2U);
  EXPECT_EQ(fills[0].value, 0x41U);
  EXPECT_EQ(fills[0].bytes, 100U);
  EXPECT_EQ(fills[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(fills[1].value, 7U);
  EXPECT_EQ(fills[1].streamId, id_of(stream));
  EXPECT_LE(fills[1].start, fills[1].end);
}

TEST_F(Activities, WaitsTellWhoIsWaitedForAndHowLong) {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
  OK(gate.put_into(stream));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(nullptr, event, 0));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  std::uint64_t opened = 0;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    opened = now();
    gate.open();
  });
  OK(cudaEventSynchronize(event));
  opener.join();
  OK(cudaStreamSynchronize(stream));
  finish();
  const auto waits = trace().records<CUpti_ActivitySynchronization2>();
  ASSERT_EQ(waits.size(), 5U);

  EXPECT_EQ(waits[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
  EXPECT_EQ(waits[0].streamId, id_of(nullptr));
  EXPECT_EQ(waits[1].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  EXPECT_EQ(waits[1].returnValue, static_cast<std::uint32_t>(CUDA_ERROR_NOT_READY));
  EXPECT_EQ(waits[2].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  EXPECT_EQ(waits[2].streamId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  EXPECT_EQ(waits[2].cudaEventId, waits[0].cudaEventId);
  EXPECT_EQ(waits[2].cudaEventSyncId, waits[0].cudaEventSyncId);
  EXPECT_LE(waits[1].end, waits[2].start);
  EXPECT_GE(waits[2].end, opened);
  EXPECT_EQ(waits[3].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_EQ(waits[3].streamId, id_of(stream));
  EXPECT_EQ(waits[3].cudaEventId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  EXPECT_EQ(waits[4].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
}

TEST_F(Activities, QueriesOfUnfinishedWorkCanBeLeftOut) {
  CU(cuptiActivityEnableAllSyncRecords(0));
  enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
  OK(gate.put_into(stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  gate.open();
  finish();
  EXPECT_EQ(trace().records<CUpti_ActivitySynchronization2>().size(), 1U);  // finish() itself
}

TEST_F(Activities, WhatIsNotEnabledIsNotRecorded) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  CU(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  launch_saxpy(2, x, y, 1000, stream);
  OK(cudaMemcpy(x, y, kBytes, cudaMemcpyDeviceToDevice));
  OK(cudaMemset(x, 0, 100));
  finish();
  EXPECT_EQ(trace().kinds(), std::vector{CUPTI_ACTIVITY_KIND_MEMSET});
}

TEST_F(Activities, SerializedKernelsOfTwoStreamsDoNotOverlap) {
  enable({CUPTI_ACTIVITY_KIND_KERNEL});
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
  cudaStream_t other;
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (int i = 0; i < 20; ++i) launch_saxpy(2, x, y, 1000, i % 2 ? other : stream);
  finish();
  const auto kernels = trace().records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_KERNEL);
  ASSERT_EQ(kernels.size(), 20U);
  for (std::size_t i = 1; i < kernels.size(); ++i) EXPECT_LE(kernels[i - 1].end, kernels[i].start);
}

std::uint64_t CUPTIAPI client_clock() {
  static std::atomic<std::uint64_t> ticks{1000};
  return ++ticks;
}

TEST_F(Activities, TimesAreThoseOfTheClientsClock) {
  EXPECT_EQ(cuptiActivityRegisterTimestampCallback(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  CU(cuptiActivityRegisterTimestampCallback(client_clock));
  enable({CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME});
  OK(cudaMemset(x, 0, 100));
  finish();
  const std::uint64_t after = now();
  EXPECT_LT(after, 2000U);
  const auto fills = trace().records<CUpti_ActivityMemset4>();
  ASSERT_EQ(fills.size(), 1U);
  EXPECT_GT(fills[0].start, 1000U);
  EXPECT_LT(fills[0].end, after);
  EXPECT_LT(call_with(fills[0].correlationId).start, fills[0].start);
}

}  // namespace
