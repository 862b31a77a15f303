// Stream capture of the stand-in: what becomes a graph, what draws other streams in, what a capture forbids.
// Errors are those of NVIDIA's documentation: "Creating a Graph Using Stream Capture", and each function's
// page.
#include "tests/standin/cuda_gate.h"
#include "tests/standin/cuda_kernels.h"

namespace {

struct CaptureTest : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMalloc(&memory, 64));
  }

  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    OK(cudaStreamBeginCapture(stream, mode));
  }

  cudaStreamCaptureStatus status(cudaStream_t asked) {
    cudaStreamCaptureStatus status;
    EXPECT_EQ(cudaStreamIsCapturing(asked, &status), cudaSuccess);
    return status;
  }

  /// The capture has failed: it ends with `error` and without a graph, and the stream is free again.
  void expect_lost(cudaError_t error = cudaErrorStreamCaptureInvalidated) {
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), error);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(stream), cudaStreamCaptureStatusNone);
    OK(cudaMemsetAsync(memory, 0, 4, stream));
  }

  size_t nodes() {
    size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    return count;
  }

  void run_graph(int times = 1) {
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; ++i) OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamSynchronize(stream));
  }

  Log log;
  Log::Line a{&log, 'a'}, b{&log, 'b'}, c{&log, 'c'};
  cudaStream_t stream, other, blocking;
  cudaEvent_t event;
  int* memory;
  cudaGraph_t graph = nullptr;
};

TEST_F(CaptureTest, NothingRunsUntilTheGraphIsLaunched) {
  begin();
  OK(Log::put_into(stream, a));
  OK(Log::put_into(stream, b));
  EXPECT_EQ(status(stream), cudaStreamCaptureStatusActive);
  EXPECT_EQ(status(other), cudaStreamCaptureStatusNone);
  OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(stream), cudaStreamCaptureStatusNone);
  EXPECT_EQ(log.settled_text(), "");
  EXPECT_EQ(nodes(), 2u);
  run_graph(3);
  EXPECT_EQ(log.text(), "ababab");
}

TEST_F(CaptureTest, KernelsCopiesAndFillsKeepTheirArguments) {
  int* calls;
  int host[2] = {5, 0};
  OK(cudaMalloc(&calls, 2 * sizeof(int)));
  begin();
  OK(cudaMemsetAsync(calls, 0, sizeof(int), stream));
  launch_count(calls, dim3(2), dim3(3), stream);
  launch_count(calls, dim3(2), dim3(3), stream);
  OK(cudaMemcpyAsync(calls + 1, host, sizeof(int), cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpyAsync(host + 1, calls, sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  host[0] = 7;  // pageable memory is read when the graph runs
  run_graph(2);
  EXPECT_EQ(host[1], 12);
  EXPECT_EQ(calls[1], 7);
}

TEST_F(CaptureTest, EventsForkAndJoin) {
  cudaEvent_t joined;
  OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  begin();
  OK(Log::put_into(stream, a));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event, 0));
  EXPECT_EQ(status(other), cudaStreamCaptureStatusActive);
  OK(gate.put_into(other));
  OK(Log::put_into(other, b));
  OK(cudaEventRecord(joined, other));
  OK(Log::put_into(stream, c));
  OK(cudaStreamWaitEvent(stream, joined, 0));
  OK(Log::put_into(stream, a));
  OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(other), cudaStreamCaptureStatusNone);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, stream));
  while (log.text() != "ac") std::this_thread::yield();  // c runs beside the gate
  EXPECT_EQ(log.settled_text(), "ac");
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(log.text(), "acba");
}

TEST_F(CaptureTest, WhatForkedMustJoin) {
  begin();
  OK(Log::put_into(stream, a));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event, 0));
  OK(Log::put_into(other, b));
  expect_lost(cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(status(other), cudaStreamCaptureStatusNone);
}

TEST_F(CaptureTest, EndsWhereItBegan) {
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  begin();
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event, 0));
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
  expect_lost();
}

TEST_F(CaptureTest, EndsInItsThreadUnlessRelaxed) {
  begin();
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  OK(cudaStreamEndCapture(stream, &graph));
  begin(cudaStreamCaptureModeRelaxed);
  std::thread([&] { EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess); }).join();
}

TEST_F(CaptureTest, WaitingForItIsInvalid) {
  begin();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(status(stream), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(Log::put_into(stream, a), cudaErrorStreamCaptureInvalidated);
  expect_lost();
  for (const auto wait : {+[](cudaStream_t asked) { return cudaStreamQuery(asked); },
                          +[](cudaStream_t) { return cudaDeviceSynchronize(); }}) {
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(wait(stream), cudaErrorStreamCaptureUnsupported);
    expect_lost();
  }
}

TEST_F(CaptureTest, CallbacksCannotBeCaptured) {
  begin();
  const auto callback = [](cudaStream_t, cudaError_t, void*) {};
  EXPECT_EQ(cudaStreamAddCallback(stream, callback, nullptr, 0), cudaErrorStreamCaptureUnsupported);
  expect_lost();
}

TEST_F(CaptureTest, EventsOfItAreNotAskedFor) {
  begin(cudaStreamCaptureModeRelaxed);
  OK(cudaEventRecord(event, stream));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
  expect_lost();
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  OK(cudaEventRecord(event, stream));
  OK(cudaEventSynchronize(event));
}

TEST_F(CaptureTest, WaitsForNothingOutside) {
  OK(cudaEventRecord(event, other));
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
  expect_lost();
}

TEST_F(CaptureTest, TwoDoNotMerge) {
  begin();
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureInvalidated);
  expect_lost();
}

TEST_F(CaptureTest, TheLegacyStreamIsUnusableBesideABlockingOne) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  cudaStreamCaptureStatus legacy;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &legacy), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status(blocking), cudaStreamCaptureStatusActive);  // asking is no harm
  EXPECT_EQ(cudaMemset(memory, 0, 4), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  begin(cudaStreamCaptureModeRelaxed);  // a non-blocking one does not mind
  OK(cudaMemset(memory, 0, 4));
  OK(cudaStreamEndCapture(stream, &graph));
}

// What each mode forbids to the thread that captures and to others: cudaThreadExchangeStreamCaptureMode.
struct ModeTest : CaptureTest, testing::WithParamInterface<cudaStreamCaptureMode> {
  static cudaError_t unsafe() {
    void* fresh = nullptr;
    return cudaMalloc(&fresh, 64);
  }

  bool survives() {
    const bool lived = cudaStreamEndCapture(stream, &graph) == cudaSuccess;
    cudaGetLastError();
    return lived;
  }
};

TEST_P(ModeTest, UnsafeCallsOfTheThread) {
  begin(GetParam());
  const bool allowed = GetParam() == cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(unsafe(), allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(survives(), allowed);
}

TEST_P(ModeTest, UnsafeCallsOfOtherThreads) {
  begin(GetParam());
  const bool allowed = GetParam() != cudaStreamCaptureModeGlobal;
  std::thread([&] {
    EXPECT_EQ(unsafe(), allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamSynchronize(other), allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
  }).join();
  EXPECT_EQ(survives(), allowed);
}

TEST_P(ModeTest, AThreadMayRelaxItself) {
  begin(GetParam());
  std::thread([&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(unsafe(), cudaSuccess);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  }).join();
  EXPECT_TRUE(survives());
}

INSTANTIATE_TEST_SUITE_P(Modes, ModeTest,
                         testing::Values(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                         cudaStreamCaptureModeRelaxed));

TEST_F(CaptureTest, TellsAndTakesDependencies) {
  begin();
  OK(Log::put_into(stream, a));
  cudaStreamCaptureStatus state;
  unsigned long long id = 0;
  const cudaGraphNode_t* before = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  cudaGraph_t into;
  OK(cudaStreamGetCaptureInfo(stream, &state, &id, &into, &before, &edges, &count));
  EXPECT_EQ(state, cudaStreamCaptureStatusActive);
  EXPECT_GT(id, 0u);
  ASSERT_EQ(count, 1u);
  const cudaHostNodeParams hook{[](void* data) { *static_cast<bool*>(data) = true; }, memory};
  cudaGraphNode_t added;
  OK(cudaGraphAddHostNode(&added, into, before, count, &hook));
  OK(cudaStreamUpdateCaptureDependencies(stream, &added, nullptr, 1, cudaStreamSetCaptureDependencies));
  OK(Log::put_into(stream, b));
  OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph, into);
  EXPECT_EQ(nodes(), 3u);
  run_graph();
  EXPECT_EQ(log.text(), "ab");
  EXPECT_TRUE(*reinterpret_cast<bool*>(memory));
}

TEST_F(CaptureTest, GoesIntoAGraphOfTheProgram) {
  cudaGraphNode_t first;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  OK(cudaStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, cudaStreamCaptureModeRelaxed));
  OK(Log::put_into(stream, a));
  cudaGraph_t same;
  OK(cudaStreamEndCapture(stream, &same));
  EXPECT_EQ(same, graph);
  EXPECT_EQ(nodes(), 2u);
  run_graph();
  EXPECT_EQ(log.text(), "a");
}

TEST_F(CaptureTest, ExternalEventsAreRecordedByEachLaunch) {
  cudaEvent_t from, to;
  OK(cudaEventCreate(&from));
  OK(cudaEventCreate(&to));
  begin();
  OK(cudaEventRecordWithFlags(from, stream, cudaEventRecordExternal));
  OK(gate.put_into(stream));
  OK(cudaEventRecordWithFlags(to, stream, cudaEventRecordExternal));
  OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(nodes(), 3u);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaEventSynchronize(from));
  EXPECT_EQ(cudaEventQuery(to), cudaErrorNotReady);
  OK(cudaStreamWaitEvent(other, to, 0));
  OK(Log::put_into(other, a));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaEventSynchronize(to));
  float milliseconds = 0;
  OK(cudaEventElapsedTime(&milliseconds, from, to));
  EXPECT_GE(milliseconds, 40.0F);
  OK(cudaStreamSynchronize(other));
  EXPECT_EQ(log.text(), "a");
}

TEST_F(CaptureTest, ExternalWaitsAreForTheLatestRecordBeforeTheLaunch) {
  begin();
  OK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
  OK(Log::put_into(stream, a));
  OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(gate.put_into(other));
  OK(cudaEventRecord(event, other));
  OK(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(log.text(), "a");
}

TEST_F(CaptureTest, StreamOrderedMemoryBelongsToTheGraph) {
  int* inside = nullptr;
  int host = 0;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaMallocAsync(&inside, sizeof(int), stream));
  OK(cudaMemsetAsync(inside, 1, sizeof(int), stream));
  OK(cudaMemcpyAsync(&host, inside, sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(inside, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  std::uint64_t used = 0;
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  EXPECT_GE(used, sizeof(int));
  run_graph(2);
  EXPECT_EQ(host, 0x01010101);
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 0u);
}

TEST_F(CaptureTest, AnotherGraphIsLaunchedIntoIt) {
  begin();
  OK(Log::put_into(stream, a));
  OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t inner;
  OK(cudaGraphInstantiate(&inner, graph, 0));
  begin();
  OK(cudaGraphLaunch(inner, stream));
  OK(Log::put_into(stream, b));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphExecDestroy(inner));
  cudaGraphNode_t first;
  size_t count = 1;
  cudaGraphNodeType type;
  OK(cudaGraphGetRootNodes(graph, &first, &count));
  OK(cudaGraphNodeGetType(first, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  run_graph(2);
  EXPECT_EQ(log.text(), "abab");
}

TEST_F(CaptureTest, ADestroyedStreamEndsIt) {
  begin(cudaStreamCaptureModeGlobal);
  OK(cudaStreamDestroy(stream));
  OK(cudaDeviceSynchronize());
}

}  // namespace
