// What CUPTI records of graphs: each node that runs, with its graph and the launch that it belongs to.
#include "tests/standin/cuda_kernels.h"
#include "tests/standin/cupti_client.h"

namespace {

struct CuptiGraphs : CuptiTest {
  void SetUp() override {
    CuptiTest::SetUp();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(reinterpret_cast<void**>(&x), kBytes));
    OK(cudaMalloc(reinterpret_cast<void**>(&y), kBytes));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(x, 0, kBytes, stream));
    launch_saxpy(2, x, y, 1000, stream);
    OK(cudaMemcpyAsync(y, x, kBytes, cudaMemcpyDeviceToDevice, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
  }

  static constexpr std::size_t kBytes = 4096;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  float *x, *y;
};

TEST_F(CuptiGraphs, EachLaunchHasARecordOfEachNode) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
          CUPTI_ACTIVITY_KIND_RUNTIME});
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaGraphLaunch(exec, stream));
  launch_saxpy(2, x, y, 1000, stream);
  finish();

  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  const auto fills = trace().records<CUpti_ActivityMemset4>();
  const auto copies = trace().records<CUpti_ActivityMemcpy6>();
  ASSERT_EQ(kernels.size(), 3U);
  ASSERT_EQ(fills.size(), 2U);
  ASSERT_EQ(copies.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_STREQ(kernels[i].name, "_Z5saxpyfPKfPfi");
    EXPECT_EQ(kernels[i].streamId, id_of(stream));
    EXPECT_NE(kernels[i].graphId, 0U);
    EXPECT_NE(kernels[i].graphNodeId, 0U);
    EXPECT_EQ(fills[i].graphId, kernels[i].graphId);
    EXPECT_NE(fills[i].graphNodeId, kernels[i].graphNodeId);
    EXPECT_EQ(fills[i].correlationId, kernels[i].correlationId);
    EXPECT_EQ(copies[i].correlationId, kernels[i].correlationId);
    EXPECT_LE(fills[i].end, kernels[i].start);
    EXPECT_LE(kernels[i].end, copies[i].start);
    const char* name = nullptr;
    CU(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call_with(kernels[i].correlationId).cbid, &name));
    EXPECT_NE(std::string(name).find("cudaGraphLaunch"), std::string::npos) << name;
  }
  EXPECT_NE(kernels[0].correlationId, kernels[1].correlationId);
  EXPECT_EQ(kernels[0].graphNodeId, kernels[1].graphNodeId);
  EXPECT_LE(copies[0].end, fills[1].start);
  EXPECT_EQ(kernels[2].graphId, 0U);
}

TEST_F(CuptiGraphs, WhatIsCapturedHasNotRun) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_saxpy(2, x, y, 1000, stream);
  OK(cudaStreamEndCapture(stream, &graph));
  finish();
  EXPECT_TRUE(trace().records<CUpti_ActivityKernel10>().empty());
}

}  // namespace
