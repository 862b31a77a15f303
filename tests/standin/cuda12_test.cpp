// A program that was built for CUDA 12: its headers, linked against its runtime, on the stand-ins. The tests
// are about what differs from CUDA 13; all else is the same code.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "tests/standin/cuda_gate.h"

static_assert(CUDART_VERSION / 1000 == 12);

namespace {

template <class Function>
Function versioned(const char* name, const char* library, Function) {
  return reinterpret_cast<Function>(dlvsym(RTLD_DEFAULT, name, library));
}

/// Room for a structure, and behind it what nobody may write.
template <class T>
struct Guarded {
  Guarded() { room.fill(0x5a); }
  T& value() { return *reinterpret_cast<T*>(room.data()); }
  std::size_t written() const {
    std::size_t end = room.size();
    while (end > 0 && room[end - 1] == 0x5a) --end;
    return end;
  }
  alignas(T) std::array<unsigned char, sizeof(T) + 256> room;
};

struct Cuda12Test : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
  }

  cudaGraphNode_t add_node(const cudaGraphNode_t* after, size_t count) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeEmpty;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddNode(&node, graph, after, count, &params), cudaSuccess);
    return node;
  }

  cudaStream_t stream;
  cudaGraph_t graph;
};

TEST_F(Cuda12Test, TheVersionIsOfCuda12) {
  int runtime = 0, driver = 0;
  OK(cudaRuntimeGetVersion(&runtime));
  OK(cudaDriverGetVersion(&driver));
  EXPECT_EQ(runtime, 12090);
  EXPECT_GE(driver, runtime);
  EXPECT_EQ(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
}

TEST_F(Cuda12Test, PropertiesAreLaidOutAsInCuda12) {
  Guarded<cudaDeviceProp> guarded;
  cudaDeviceProp& p = guarded.value();
  OK(cudaGetDeviceProperties(&p, 1));
  EXPECT_EQ(guarded.written(), sizeof p);
  EXPECT_STREQ(p.name, "CPU stand-in for CUDA");
  EXPECT_EQ(p.pciBusID, 2);
  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 1), cudaSuccess);
    return value;
  };
  EXPECT_EQ(p.clockRate, attribute(cudaDevAttrClockRate));
  EXPECT_GT(p.clockRate, 0);
  EXPECT_EQ(p.deviceOverlap, attribute(cudaDevAttrGpuOverlap));
  EXPECT_EQ(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount));
  EXPECT_EQ(p.canMapHostMemory, attribute(cudaDevAttrCanMapHostMemory));
  EXPECT_EQ(p.surfaceAlignment, attribute(cudaDevAttrSurfaceAlignment));
  EXPECT_EQ(p.memoryClockRate, attribute(cudaDevAttrMemoryClockRate));
  EXPECT_EQ(p.memoryBusWidth, attribute(cudaDevAttrGlobalMemoryBusWidth));
  EXPECT_EQ(p.singleToDoublePrecisionPerfRatio, attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio));
  EXPECT_EQ(p.cooperativeLaunch, attribute(cudaDevAttrCooperativeLaunch));
  EXPECT_EQ(p.sharedMemPerBlockOptin, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  EXPECT_EQ(p.reservedSharedMemPerBlock, attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  EXPECT_EQ(p.memoryPoolsSupported, attribute(cudaDevAttrMemoryPoolsSupported));
  EXPECT_EQ(p.unifiedFunctionPointers, 0);
}

TEST_F(Cuda12Test, TheFirstFormOfPropertiesEndsWhereCuda11Ended) {
  Guarded<cudaDeviceProp> guarded;
  const auto get = versioned("cudaGetDeviceProperties", "libcudart.so.12", &cudaGetDeviceProperties_v2);
  OK(get(&guarded.value(), 0));
  EXPECT_EQ(guarded.value().reservedSharedMemPerBlock, 1024U);
  EXPECT_LE(guarded.written(), offsetof(cudaDeviceProp, hostRegisterSupported));
  EXPECT_EQ(get(nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(Cuda12Test, DescriptionsOfPointersEndWhereCuda12Ends) {
  int* memory;
  OK(cudaMalloc(&memory, 4));
  Guarded<cudaPointerAttributes> guarded;
  OK(cudaPointerGetAttributes(&guarded.value(), memory));
  EXPECT_EQ(guarded.value().type, cudaMemoryTypeDevice);
  EXPECT_EQ(guarded.value().devicePointer, memory);
  EXPECT_LE(guarded.written(), sizeof(cudaPointerAttributes));
  EXPECT_EQ(cudaPointerGetAttributes(nullptr, memory), cudaErrorInvalidValue);
}

TEST_F(Cuda12Test, GraphsAreBuiltAndReadWithoutEdges) {
  const cudaGraphNode_t first = add_node(nullptr, 0);
  const cudaGraphNode_t second = add_node(&first, 1);
  const cudaGraphNode_t third = add_node(nullptr, 0);
  OK(cudaGraphAddDependencies(graph, &second, &third, 1));
  size_t count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2U);
  cudaGraphNode_t found = nullptr;
  count = 1;
  OK(cudaGraphNodeGetDependencies(third, &found, &count));
  EXPECT_EQ(found, second);
  OK(cudaGraphNodeGetDependentNodes(first, &found, &count));
  EXPECT_EQ(found, second);
  OK(cudaGraphRemoveDependencies(graph, &second, &third, 1));
  cudaGraphEdgeData edges[2];
  std::memset(edges, 0x5a, sizeof edges);
  cudaGraphNode_t from[2], to[2];
  count = 2;
  OK(cudaGraphGetEdges_v2(graph, from, to, edges, &count));
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(from[0], first);
  EXPECT_EQ(edges[0].type, 0);
}

TEST_F(Cuda12Test, CapturesAreReadInEachForm) {
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Log log;
  Log::Line a{&log, 'a'}, b{&log, 'b'};
  OK(Log::put_into(stream, a));
  cudaStreamCaptureStatus status;
  unsigned long long id = 0, same_id = 0;
  cudaGraph_t captured = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &nodes, &count));  // the second form
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0U);
  ASSERT_EQ(count, 1U);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeHost);

  using First = cudaError_t (*)(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*);
  OK(versioned("cudaStreamGetCaptureInfo", "libcudart.so.12", First{})(stream, &status, &same_id));
  EXPECT_EQ(same_id, id);
  const cudaGraphEdgeData* edges = nullptr;
  OK(cudaStreamGetCaptureInfo_v3(stream, &status, &same_id, nullptr, &nodes, &edges, &count));
  EXPECT_EQ(edges[0].type, 0);

  OK(cudaStreamUpdateCaptureDependencies(stream, nullptr, 0, cudaStreamSetCaptureDependencies));
  OK(Log::put_into(stream, b));
  OK(cudaStreamEndCapture(stream, &captured));
  OK(cudaGraphGetRootNodes(captured, nullptr, &count));
  EXPECT_EQ(count, 2U);
}

TEST_F(Cuda12Test, HintsNameADeviceOrTheHost) {
  int* memory;
  OK(cudaMallocManaged(&memory, 64));
  for (const int device : {0, cudaCpuDeviceId}) {
    OK(cudaMemAdvise(memory, 64, cudaMemAdviseSetPreferredLocation, device));
    OK(cudaMemPrefetchAsync(memory, 64, device, stream));
  }
  OK(cudaMemPrefetchAsync_v2(memory, 64, {cudaMemLocationTypeHost, 0}, 0, stream));
}

TEST_F(Cuda12Test, LibrariesOfCuda13InTheProcessShareTheStreams) {
  const auto query = versioned("cudaStreamQuery", "libcudart.so.13", &cudaStreamQuery);
  ASSERT_NE(query, nullptr);
  OK(gate.put_into(stream));
  EXPECT_EQ(query(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(query(stream), cudaSuccess);
}

TEST_F(Cuda12Test, WhatCuda13RemovedSaysWhoAsked) {
  testing::internal::CaptureStderr();
  using Set = cudaError_t (*)(double*);
  double value = 1;
  EXPECT_EQ(versioned("cudaSetDoubleForDevice", "libcudart.so.12", Set{})(&value), cudaErrorNotSupported);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("standin libcudart: cudaSetDoubleForDevice is not provided; "), 0U) << said;
  EXPECT_NE(said.find("cuda12_standin_test asked"), std::string::npos) << said;
}

int wrapped_calls = 0;

TEST_F(Cuda12Test, ATracerThatWrapsAFunctionIsCalledOnce) {
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  EXPECT_EQ(wrapped_calls, 1);
}

}  // namespace

// The executable is the first that the linker finds the name in, as a preloaded tracer would be.
extern "C" cudaError_t cudaEventCreate(cudaEvent_t* event) {
  ++wrapped_calls;
  static const auto next =
      reinterpret_cast<cudaError_t (*)(cudaEvent_t*)>(dlsym(RTLD_NEXT, "cudaEventCreate"));
  return next(event);
}
