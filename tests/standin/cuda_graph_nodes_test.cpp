// Getters and setters of the nodes of a graph, on the stand-in.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/standin/cuda_graph_fixture.h"

namespace {

struct GraphNodes : GraphTest {
  cudaGraphNode_t kernel() {
    const cudaKernelNodeParams params = count_kernel(arguments);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params), cudaSuccess);
    return node;
  }

  std::vector<cudaGraphNode_t> nodes() {
    size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    std::vector<cudaGraphNode_t> all(count);
    EXPECT_EQ(cudaGraphGetNodes(graph, all.data(), &count), cudaSuccess);
    return all;
  }

  struct Padding {
    char bytes[5];
  } padding{{0, 0, 0, 0, 'x'}};
  void* arguments[2] = {&padding, &memory};
};

TEST_F(GraphNodes, AKernelHasItsOwnArguments) {
  const cudaGraphNode_t node = kernel();
  int* const counted = memory;
  memory = nullptr;
  cudaKernelNodeParams params{};
  OK(cudaGraphKernelNodeGetParams(node, &params));
  memory = counted;
  EXPECT_EQ(params.func, count_function());
  EXPECT_EQ(params.blockDim.x, 2U);
  EXPECT_EQ(params.extra, nullptr);
  ASSERT_NE(params.kernelParams, nullptr);
  EXPECT_NE(params.kernelParams[1], arguments[1]);
  EXPECT_EQ(*static_cast<int**>(params.kernelParams[1]), counted);

  params.gridDim = dim3(3);
  OK(cudaGraphKernelNodeSetParams(node, &params));  // its arguments are the node's own
  run(instantiated());
  EXPECT_EQ(*memory, 6);
  OK(cudaGraphKernelNodeGetParams(node, &params));
  EXPECT_EQ(params.gridDim.x, 3U);
}

TEST_F(GraphNodes, AKernelWithoutABodyHasNoArgumentsToShow) {
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  launch_without_body(memory, stream);
  OK(cudaStreamEndCapture(stream, &graph));
  cudaKernelNodeParams params{};
  OK(cudaGraphKernelNodeGetParams(nodes()[0], &params));
  EXPECT_NE(params.func, nullptr);
  EXPECT_EQ(params.kernelParams, nullptr);
  OK(cudaGraphKernelNodeSetParams(nodes()[0], &params));
}

TEST_F(GraphNodes, WrongParametersAreRefused) {
  const cudaGraphNode_t node = kernel(), said = host(a);
  cudaKernelNodeParams params = count_kernel(arguments);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(said, &params), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeSetParams(said, &params), cudaErrorInvalidValue);
  params.func = nullptr;
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &params), cudaErrorInvalidDeviceFunction);
  params = count_kernel(nullptr);
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &params), cudaErrorInvalidValue);
  const cudaHostNodeParams nothing{};
  EXPECT_EQ(cudaGraphHostNodeSetParams(said, &nothing), cudaErrorInvalidValue);
  OK(cudaGraphDestroyNode(said));
  cudaHostNodeParams gone{};
  EXPECT_EQ(cudaGraphHostNodeGetParams(said, &gone), cudaErrorInvalidValue);
  run(instantiated());
  EXPECT_EQ(*memory, 2);
}

TEST_F(GraphNodes, AttributesOfKernelsAreKept) {
  const cudaGraphNode_t node = kernel(), other = kernel(), said = host(a);
  cudaLaunchAttributeValue value{};
  value.priority = -3;
  OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
  value.cooperative = 1;
  OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
  const cudaKernelNodeParams params = count_kernel(arguments);
  OK(cudaGraphKernelNodeSetParams(node, &params));
  OK(cudaGraphKernelNodeCopyAttributes(other, node));
  for (const cudaGraphNode_t asked : {node, other}) {
    OK(cudaGraphKernelNodeGetAttribute(asked, cudaLaunchAttributePriority, &value));
    EXPECT_EQ(value.priority, -3);
    OK(cudaGraphKernelNodeGetAttribute(asked, cudaLaunchAttributeCooperative, &value));
    EXPECT_EQ(value.cooperative, 1);
  }
  OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeMemSyncDomainMap, &value));
  EXPECT_EQ(value.memSyncDomainMap.remote, 1);

  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeSynchronizationPolicy, &value),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &value),
            cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphKernelNodeCopyAttributes(node, said), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, ACopyGetsOtherEnds) {
  int from[2] = {1, 2}, to[2] = {0, 0};
  cudaGraphNode_t up, down;
  OK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, memory, &from[0], 4, cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNode1D(&down, graph, &up, 1, &to[0], memory, 4, cudaMemcpyDeviceToHost));
  cudaMemcpy3DParms params{};
  OK(cudaGraphMemcpyNodeGetParams(up, &params));
  EXPECT_EQ(params.srcPtr.ptr, &from[0]);
  EXPECT_EQ(params.dstPtr.ptr, memory);
  EXPECT_EQ(params.extent.width, 4U);
  EXPECT_EQ(params.kind, cudaMemcpyHostToDevice);
  params.srcPtr.ptr = &from[1];
  OK(cudaGraphMemcpyNodeSetParams(up, &params));
  OK(cudaGraphMemcpyNodeSetParams1D(down, &to[1], memory, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(cudaGraphMemcpyNodeSetParams1D(down, nullptr, memory, 4, cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParams1D(down, &to[1], memory, 0, cudaMemcpyDefault),
            cudaErrorInvalidValue);
  run(instantiated());
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(to[1], 2);
}

TEST_F(GraphNodes, CopiesReachVariables) {
  const void* const symbol = variable_symbol();
  int from[2] = {7, 8}, to[2] = {0, 0};
  cudaGraphNode_t up, down;
  OK(cudaGraphAddMemcpyNodeToSymbol(&up, graph, nullptr, 0, symbol, &from[0], 4, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNodeFromSymbol(&down, graph, &up, 1, &to[0], symbol, 4, 4, cudaMemcpyDeviceToHost));
  run(instantiated());
  EXPECT_EQ(to[0], 7);
  OK(cudaGraphMemcpyNodeSetParamsToSymbol(up, symbol, &from[1], 4, 8, cudaMemcpyHostToDevice));
  OK(cudaGraphMemcpyNodeSetParamsFromSymbol(down, &to[1], symbol, 4, 8, cudaMemcpyDeviceToHost));
  run(instantiated());
  EXPECT_EQ(to[1], 8);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParamsToSymbol(up, symbol, &from[1], 4, 14, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParamsFromSymbol(down, &to[1], &to[0], 4, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidSymbol);
}

TEST_F(GraphNodes, AFillGetsAnotherValue) {
  cudaMemsetParams params{memory, 0, 5, 4, 2, 1};
  cudaGraphNode_t node;
  OK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &params));
  params = {};
  OK(cudaGraphMemsetNodeGetParams(node, &params));
  EXPECT_EQ(params.dst, memory);
  EXPECT_EQ(params.value, 5U);
  EXPECT_EQ(params.elementSize, 4U);
  EXPECT_EQ(params.width, 2U);
  params.value = 9;
  OK(cudaGraphMemsetNodeSetParams(node, &params));
  run(instantiated());
  EXPECT_EQ(memory[1], 9);
  params.elementSize = 3;
  EXPECT_EQ(cudaGraphMemsetNodeSetParams(node, &params), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, AHostFunctionGetsOtherData) {
  const cudaGraphNode_t node = host(a);
  const cudaGraphExec_t before = instantiated();
  cudaHostNodeParams params{};
  OK(cudaGraphHostNodeGetParams(node, &params));
  EXPECT_EQ(params.userData, &a);
  params.userData = &b;
  OK(cudaGraphHostNodeSetParams(node, &params));
  run(instantiated());
  run(before);
  EXPECT_EQ(log.text(), "ba");
}

TEST_F(GraphNodes, EventsAreNamedAndChanged) {
  cudaEvent_t first, second, named;
  OK(cudaEventCreate(&first));
  OK(cudaEventCreate(&second));
  cudaGraphNode_t record, wait;
  OK(cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, first));
  OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, first));
  OK(cudaGraphEventRecordNodeSetEvent(record, second));
  OK(cudaGraphEventRecordNodeGetEvent(record, &named));
  EXPECT_EQ(named, second);
  OK(cudaGraphEventWaitNodeGetEvent(wait, &named));
  EXPECT_EQ(named, first);
  OK(cudaGraphEventWaitNodeSetEvent(wait, second));
  OK(cudaGraphEventWaitNodeGetEvent(wait, &named));
  EXPECT_EQ(named, second);
  EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(record, &named), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventRecordNodeSetEvent(wait, first), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventRecordNodeSetEvent(record, nullptr), cudaErrorInvalidValue);
  run(instantiated());
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, first, first), cudaErrorInvalidResourceHandle);  // never recorded
  OK(cudaEventElapsedTime(&ms, second, second));
}

TEST_F(GraphNodes, AChildChangesThroughItsOwnHandle) {
  const cudaGraphNode_t outer = host(a);
  const cudaGraph_t child = graph;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t node;
  OK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  cudaGraph_t within;
  OK(cudaGraphChildGraphNodeGetGraph(node, &within));
  EXPECT_NE(within, child);
  size_t one = 1;
  cudaGraphNode_t inner;
  OK(cudaGraphGetNodes(within, &inner, &one));
  const cudaHostNodeParams params = saying(b), unseen = saying(c);
  OK(cudaGraphHostNodeSetParams(inner, &params));
  OK(cudaGraphHostNodeSetParams(outer, &unseen));
  run(instantiated());
  EXPECT_EQ(log.text(), "b");
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(node, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(inner, &within), cudaErrorInvalidValue);
  OK(cudaGraphDestroyNode(node));
  EXPECT_EQ(cudaGraphGetNodes(within, nullptr, &one), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, AllocationsAreDescribed) {
  cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  cudaMemAllocNodeParams params{}, shown{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location = {cudaMemLocationTypeDevice, 0};
  params.accessDescs = &access;
  params.accessDescCount = 1;
  params.bytesize = 128;
  cudaGraphNode_t made, freed;
  OK(cudaGraphAddMemAllocNode(&made, graph, nullptr, 0, &params));
  OK(cudaGraphAddMemFreeNode(&freed, graph, &made, 1, params.dptr));
  access.location.id = 0;
  OK(cudaGraphMemAllocNodeGetParams(made, &shown));
  EXPECT_EQ(shown.dptr, params.dptr);
  EXPECT_EQ(shown.bytesize, 128U);
  ASSERT_EQ(shown.accessDescCount, 1U);
  EXPECT_EQ(shown.accessDescs[0].location.id, 1);
  void* pointer = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(freed, &pointer));
  EXPECT_EQ(pointer, params.dptr);
  EXPECT_EQ(cudaGraphMemFreeNodeGetParams(made, &pointer), cudaErrorInvalidValue);
  cudaGraphNodeParams generic{};
  generic.type = cudaGraphNodeTypeMemFree;
  generic.free.dptr = pointer;
  EXPECT_EQ(cudaGraphNodeSetParams(freed, &generic), cudaErrorNotSupported);
}

TEST_F(GraphNodes, AnyNodeIsSetByItsType) {
  const cudaGraphNode_t said = host(a), counted = kernel();
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeHost;
  params.host.fn = saying(b).fn;
  params.host.userData = &b;
  OK(cudaGraphNodeSetParams(said, &params));
  EXPECT_EQ(cudaGraphNodeSetParams(counted, &params), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeSetParams(said, nullptr), cudaErrorInvalidValue);
  run(instantiated());
  EXPECT_EQ(log.text(), "b");
}

TEST_F(GraphNodes, WhatWasCapturedIsDescribed) {
  void* allocated = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  launch_count(memory, dim3(4), dim3(5), stream);
  OK(cudaMemcpy2DAsync(memory, 16, memory + 2, 8, 4, 2, cudaMemcpyDeviceToDevice, stream));
  OK(cudaMemset2DAsync(memory, 16, 3, 8, 2, stream));
  OK(Log::put_into(stream, a));
  OK(cudaMallocAsync(&allocated, 64, stream));
  OK(cudaFreeAsync(allocated, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  const auto captured = nodes();
  ASSERT_EQ(captured.size(), 6U);

  cudaKernelNodeParams launch{};
  OK(cudaGraphKernelNodeGetParams(captured[0], &launch));
  EXPECT_EQ(launch.gridDim.x, 4U);
  EXPECT_EQ(*static_cast<int**>(launch.kernelParams[1]), memory);
  cudaMemcpy3DParms copy{};
  OK(cudaGraphMemcpyNodeGetParams(captured[1], &copy));
  EXPECT_EQ(copy.dstPtr.pitch, 16U);
  EXPECT_EQ(copy.srcPtr.ptr, memory + 2);
  EXPECT_EQ(copy.extent.height, 2U);
  cudaMemsetParams fill{};
  OK(cudaGraphMemsetNodeGetParams(captured[2], &fill));
  EXPECT_EQ(fill.width, 8U);
  EXPECT_EQ(fill.height, 2U);
  EXPECT_EQ(fill.elementSize, 1U);
  cudaHostNodeParams said{};
  OK(cudaGraphHostNodeGetParams(captured[3], &said));
  EXPECT_EQ(said.userData, &a);
  cudaMemAllocNodeParams allocation{};
  OK(cudaGraphMemAllocNodeGetParams(captured[4], &allocation));
  EXPECT_EQ(allocation.dptr, allocated);
  void* freed = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(captured[5], &freed));
  EXPECT_EQ(freed, allocated);
  run(instantiated());
  EXPECT_EQ(memory[5], 0x03030303);
  EXPECT_EQ(memory[2], 0);
}

TEST_F(GraphNodes, AGraphIsDrawn) {
  host(a, {kernel()});
  const cudaGraph_t child = graph;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t node, copied;
  OK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  OK(cudaGraphAddMemcpyNode1D(&copied, graph, &node, 1, memory, padding.bytes, 4, cudaMemcpyHostToDevice));
  const auto path =
      std::filesystem::temp_directory_path() / ("standin_graph_" + std::to_string(getpid()) + ".dot");
  const auto drawn = [&](unsigned flags) {
    EXPECT_EQ(cudaGraphDebugDotPrint(graph, path.c_str(), flags), cudaSuccess);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  EXPECT_EQ(drawn(0), R"(digraph dot {
subgraph cluster_1 {
label="graph 1";
"graph_1_node_0" [shape=box, label="0\nGRAPH"];
subgraph cluster_2 {
label="in node 0 of graph 1";
"graph_2_node_0" [shape=box, label="0\nKERNEL\ncount"];
"graph_2_node_1" [shape=box, label="1\nHOST"];
"graph_2_node_0" -> "graph_2_node_1";
}
"graph_1_node_1" [shape=box, label="1\nMEMCPY HtoD"];
"graph_1_node_0" -> "graph_1_node_1";
}
}
)");
  EXPECT_NE(drawn(cudaGraphDebugDotFlagsKernelNodeParams).find("block 2,1,1"), std::string::npos);
  EXPECT_NE(drawn(cudaGraphDebugDotFlagsVerbose).find("extent 4,1,1"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph, "/no/such/folder/graph.dot", 0), cudaErrorOperatingSystem);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph, nullptr, 0), cudaErrorInvalidValue);
}

}  // namespace
