// What only the stand-in CUPTI promises: the models show in the times, and what is missing says so.
#include <nccl.h>
#include <stdlib.h>

#include <latch>

#include "tests/standin/cuda_kernels.h"
#include "tests/standin/cupti_client.h"

namespace {

struct OnlyStandin : CuptiTest {};

TEST_F(OnlyStandin, KernelsLastAsLongAsTheModelSays) {
  setenv("STANDIN_KERNEL_NS", "saxpy=200000000", 1);
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  float* y = nullptr;
  OK(cudaMalloc(reinterpret_cast<void**>(&y), 1024));
  cudaStream_t first, second;
  OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  launch_saxpy(1, y, y, 100, first);
  launch_saxpy(1, y, y, 100, second);
  finish();
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 2U);
  for (const auto& kernel : kernels) EXPECT_GE(kernel.end - kernel.start, 200'000'000U);
  EXPECT_LT(kernels[1].start, kernels[0].end);  // two streams: they overlap
}

// A kernel without a body does nothing, in stream order: it is recorded all the same.
TEST_F(OnlyStandin, KernelsWithoutABodyAreRecorded) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  launch_without_body(nullptr, nullptr);
  finish();
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_STREQ(kernels[0].name, "without_body");
}

// Of a GPU's CUPTI the header says so, too; what it does there was not seen.
TEST_F(OnlyStandin, AContextsSettingSupersedesThatOfAll) {
  static CUcontext context = nullptr;
  CUpti_SubscriberHandle subscriber = nullptr;
  const auto look = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    context = static_cast<const CUpti_CallbackData*>(data)->context;
  };
  CU(cuptiSubscribe(&subscriber, look, nullptr));
  CU(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  void* memory = nullptr;
  OK(cudaMalloc(&memory, 64));
  CU(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  ASSERT_NE(context, nullptr);

  CU(cuptiActivityEnableContext(context, CUPTI_ACTIVITY_KIND_MEMSET));
  OK(cudaMemset(memory, 1, 16));
  CU(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
  CU(cuptiActivityDisableContext(context, CUPTI_ACTIVITY_KIND_MEMSET));
  OK(cudaMemset(memory, 2, 16));
  finish();
  const auto fills = trace().records<CUpti_ActivityMemset4>();
  ASSERT_EQ(fills.size(), 1U);
  EXPECT_EQ(fills[0].value, 1U);
  EXPECT_EQ(cuptiActivityEnableContext(context, CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnableContext(nullptr, CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_ERROR_INVALID_CONTEXT);
}

TEST_F(OnlyStandin, CallbacksComeForContextsThatAreCreated) {
  static std::vector<std::uint32_t> created;
  const auto note = [](void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    EXPECT_EQ(domain, CUPTI_CB_DOMAIN_RESOURCE);
    EXPECT_EQ(id, static_cast<CUpti_CallbackId>(CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
    cuptiGetDeviceId(static_cast<const CUpti_ResourceData*>(data)->context, &created.emplace_back());
  };
  CUpti_SubscriberHandle handle = nullptr;
  CU(cuptiSubscribe(&handle, note, nullptr));
  CU(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
  CU(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
  EXPECT_EQ(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED),
            CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  for (const int device : {5, 3, 5}) OK(cudaSetDevice(device));
  EXPECT_EQ(created, (std::vector<std::uint32_t>{5, 3}));
  CU(cuptiUnsubscribe(handle));
  OK(cudaSetDevice(6));
  EXPECT_EQ(created.size(), 2U);
}

TEST_F(OnlyStandin, RefusesWhatItDoesNotProvide) {
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnableHWTrace(1), CUPTI_ERROR_NOT_SUPPORTED);
  std::uint32_t count = 0;
  EXPECT_EQ(cuptiGetNumEventDomains(&count), CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_SubscriberHandle subscriber = nullptr;
  CU(cuptiSubscribe(&subscriber, nullptr, nullptr));
  EXPECT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_ERROR_NOT_SUPPORTED);
}

struct Collective : CuptiTest {
  static constexpr int kRanks = 2;

  void SetUp() override {
    CuptiTest::SetUp();
    setenv("STANDIN_LINK", "30ms,1GB/s", 1);
    ASSERT_EQ(ncclCommInitAll(comms, kRanks, nullptr), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      OK(cudaSetDevice(rank));
      OK(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking));
      OK(cudaMalloc(reinterpret_cast<void**>(&buffers[rank]), 4096));
    }
  }

  void all_reduce(ncclDataType_t type, ncclRedOp_t op) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_EQ(ncclAllReduce(buffers[rank], buffers[rank], 16, type, op, comms[rank], streams[rank]),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }

  void finish_all() {
    for (int rank = 0; rank < kRanks; ++rank) {
      OK(cudaSetDevice(rank));
      OK(cudaDeviceSynchronize());
    }
    CU(cuptiActivityFlushAll(0));
  }

  ncclComm_t comms[kRanks];
  cudaStream_t streams[kRanks];
  float* buffers[kRanks];
};

TEST_F(Collective, IsAKernelOnItsStreamThatWaitsForItsPeers) {
  static std::latch reached(1);
  OK(cudaLaunchHostFunc(
      streams[0], [](void*) { reached.count_down(); }, nullptr));
  OK(gate.put_into(streams[1]));  // rank 1 comes late, and rank 0 has to wait for it
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME,
          CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  CU(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77));
  all_reduce(ncclFloat, ncclSum);
  CU(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  reached.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // rank 0's stream is there, and goes on
  const std::uint64_t opened = now();
  gate.open();
  finish_all();

  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 2U);
  for (const auto& kernel : kernels) {
    EXPECT_STREQ(kernel.name,
                 "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE");
    EXPECT_EQ(kernel.contextId, kernel.deviceId + 1);
  }
  const auto& early = kernels[0].deviceId == 0 ? kernels[0] : kernels[1];
  const auto& late = kernels[0].deviceId == 0 ? kernels[1] : kernels[0];
  EXPECT_LT(early.start, opened);
  EXPECT_GE(late.start, opened);
  EXPECT_GE(early.end - late.start, 30'000'000U);  // the link's latency, from when both are there
  EXPECT_GE(late.end - late.start, 30'000'000U);

  // NCCL launches by the driver.
  const auto launches = trace().records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
  EXPECT_EQ(launches[0].correlationId, kernels[0].correlationId);
  int with_id = 0;
  for (const auto& id : trace().records<CUpti_ActivityExternalCorrelation>())
    with_id += id.correlationId == launches[0].correlationId && id.externalId == 77;
  EXPECT_EQ(with_id, 1);
  for (const auto& call : trace().records<CUpti_ActivityAPI>())
    EXPECT_NE(call.cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchHostFunc_v10000);
}

TEST_F(Collective, HasTheNameOfNcclsKernelForIt) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  all_reduce(ncclInt32, ncclMax);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(ncclBroadcast(buffers[rank], buffers[rank], 16, ncclFloat, 0, comms[rank], streams[rank]),
              ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(buffers[0], 16, ncclFloat, 1, comms[0], streams[0]), ncclSuccess);
  ASSERT_EQ(ncclRecv(buffers[1], 16, ncclFloat, 0, comms[1], streams[1]), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  finish_all();
  std::vector<std::string> names;
  for (const auto& kernel : trace().records<CUpti_ActivityKernel10>()) {
    if (kernel.deviceId == 0) names.emplace_back(kernel.name);
  }
  const std::string arguments = "24ncclDevKernelArgsStorageILm4096EE";
  EXPECT_EQ(names, (std::vector<std::string>{"_Z39ncclDevKernel_AllReduce_Sum_u32_RING_LL" + arguments,
                                             "_Z31ncclDevKernel_Broadcast_RING_LL" + arguments,
                                             "_Z22ncclDevKernel_SendRecv" + arguments}));
}

}  // namespace
