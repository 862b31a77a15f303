// Changes of single nodes of an executable graph, on the stand-in: the next launch has them, earlier launches
// do not.
#include "tests/standin/cuda_graph_fixture.h"

namespace {

struct GraphChanges : GraphTest {
  // A node at which launches wait until the gate is open.
  cudaGraphNode_t halt() {
    const cudaHostNodeParams pass{[](void* data) { static_cast<Gate*>(data)->pass(); }, &gate};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddHostNode(&node, graph, nullptr, 0, &pass), cudaSuccess);
    return node;
  }

  cudaGraphNode_t fill(cudaGraphNode_t after = nullptr) {
    const cudaMemsetParams params = filling(1);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph, after ? &after : nullptr, after != nullptr, &params),
              cudaSuccess);
    return node;
  }

  cudaMemsetParams filling(unsigned value) { return {memory, 0, value, 4, 1, 1}; }

  int value() {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
};

TEST_F(GraphChanges, LaunchesOnTheirWayStayAsTheyWere) {
  const cudaGraphNode_t node = host(a, {halt()});
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphLaunch(exec, stream));
  const cudaHostNodeParams params = saying(b);
  OK(cudaGraphExecHostNodeSetParams(exec, node, &params));
  OK(cudaGraphLaunch(exec, stream));
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(log.text(), "ab");
  run(instantiated());  // the graph has not changed
  EXPECT_EQ(log.text(), "aba");
}

TEST_F(GraphChanges, ADisabledNodeIsAnEmptyOne) {
  const cudaGraphNode_t node = fill(halt()), said = host(a, {node});
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphLaunch(exec, stream));
  unsigned enabled = 7;
  OK(cudaGraphNodeGetEnabled(exec, node, &enabled));
  EXPECT_EQ(enabled, 1U);
  OK(cudaGraphNodeSetEnabled(exec, node, 0));
  OK(cudaGraphNodeGetEnabled(exec, node, &enabled));
  EXPECT_EQ(enabled, 0U);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(value(), 1);  // it was enabled when it was launched
  OK(cudaMemset(memory, 0, 4));
  run(exec);
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(log.text(), "aa");  // what comes after it runs
  const cudaMemsetParams params = filling(5);
  OK(cudaGraphExecMemsetNodeSetParams(exec, node, &params));
  run(exec);
  EXPECT_EQ(value(), 0);
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, graph, &info));
  run(exec);
  EXPECT_EQ(value(), 0);
  OK(cudaGraphNodeSetEnabled(exec, node, 1));
  run(exec);
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(cudaGraphNodeSetEnabled(exec, said, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec, said, &enabled), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec, node, nullptr), cudaErrorInvalidValue);
}

TEST_F(GraphChanges, CopiesAndVariables) {
  int from[2] = {1, 2}, to = 0;
  const void* const symbol = variable_symbol();
  cudaGraphNode_t up, down;
  OK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, memory, &from[0], 4, cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNode1D(&down, graph, &up, 1, &to, memory, 4, cudaMemcpyDeviceToHost));
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphExecMemcpyNodeSetParams1D(exec, up, memory, &from[1], 4, cudaMemcpyHostToDevice));
  run(exec);
  EXPECT_EQ(to, 2);
  from[1] = 6;
  OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, up, symbol, &from[1], 4, 12, cudaMemcpyHostToDevice));
  OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, down, &to, symbol, 4, 12, cudaMemcpyDeviceToHost));
  run(exec);
  EXPECT_EQ(to, 6);
}

TEST_F(GraphChanges, CopiesStayFlatAndOnTheirDevice) {
  int from[4] = {};
  cudaGraphNode_t node;
  OK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, memory, from, 4, cudaMemcpyHostToDevice));
  const cudaGraphExec_t exec = instantiated();
  cudaMemcpy3DParms square{};
  square.srcPtr = {from, 8, 8, 2};
  square.dstPtr = {memory, 8, 8, 2};
  square.extent = {4, 2, 1};
  square.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams(exec, node, &square), cudaErrorInvalidValue);
  OK(cudaGraphMemcpyNodeSetParams(node, &square));  // a graph that is not ready yet may
  int* elsewhere;
  OK(cudaSetDevice(1));
  OK(cudaMalloc(&elsewhere, 4));
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, node, elsewhere, from, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, node, from, memory, 4, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
}

TEST_F(GraphChanges, FillsKeepTheirShape) {
  cudaMemsetParams params{memory, 16, 1, 4, 2, 2};
  cudaGraphNode_t square;
  OK(cudaGraphAddMemsetNode(&square, graph, nullptr, 0, &params));
  const cudaGraphNode_t flat = fill(square);
  const cudaGraphExec_t exec = instantiated();
  params.value = 4;
  OK(cudaGraphExecMemsetNodeSetParams(exec, square, &params));
  EXPECT_EQ(cudaGraphExecMemsetNodeSetParams(exec, flat, &params), cudaErrorInvalidValue);
  params.width = 1;
  EXPECT_EQ(cudaGraphExecMemsetNodeSetParams(exec, square, &params), cudaErrorInvalidValue);
  run(exec);
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[1], 4);
  EXPECT_EQ(memory[5], 4);
}

TEST_F(GraphChanges, EventsOfTheNextLaunch) {
  cudaEvent_t first, second;
  OK(cudaEventCreate(&first));
  OK(cudaEventCreate(&second));
  cudaGraphNode_t record, wait;
  OK(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, first));
  OK(cudaGraphAddEventRecordNode(&record, graph, &wait, 1, first));
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, second));
  cudaStream_t held;
  OK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
  cudaEvent_t awaited;
  OK(cudaEventCreate(&awaited));
  OK(gate.put_into(held));
  OK(cudaEventRecord(awaited, held));
  OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, awaited));
  OK(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(cudaEventQuery(second), cudaErrorNotReady);
  gate.open();
  OK(cudaEventSynchronize(second));
  EXPECT_EQ(cudaGraphExecEventWaitNodeSetEvent(exec, record, first), cudaErrorInvalidValue);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, first, first), cudaErrorInvalidResourceHandle);  // never recorded
}

TEST_F(GraphChanges, AChildGraphTakesOverASimilarGraph) {
  const auto make = [&](Log::Line& said) {
    EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    host(b, {host(said)});
    return graph;
  };
  const cudaGraph_t child = make(a), like_it = make(c), longer = make(c);
  host(c);
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t node;
  OK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphExecChildGraphNodeSetParams(exec, node, like_it));
  run(exec);
  EXPECT_EQ(cudaGraphExecChildGraphNodeSetParams(exec, node, longer), cudaErrorInvalidValue);
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeGraph;
  params.graph.graph = child;
  OK(cudaGraphExecNodeSetParams(exec, node, &params));
  run(exec);
  EXPECT_EQ(log.text(), "cbab");

  cudaGraph_t within;
  OK(cudaGraphChildGraphNodeGetGraph(node, &within));
  cudaGraphNode_t inner[2];
  size_t count = 2;
  OK(cudaGraphGetNodes(within, inner, &count));
  const cudaHostNodeParams said = saying(c);
  OK(cudaGraphExecHostNodeSetParams(exec, inner[1], &said));
  run(exec);
  EXPECT_EQ(log.text(), "cbabac");
}

TEST_F(GraphChanges, NodesOfOtherGraphsAreRefused) {
  const cudaGraphNode_t node = host(a);
  const cudaGraphExec_t exec = instantiated();
  cudaGraph_t copy;
  cudaGraphNode_t copied;
  OK(cudaGraphClone(&copy, graph));
  OK(cudaGraphNodeFindInClone(&copied, node, copy));
  const cudaHostNodeParams params = saying(b);
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec, copied, &params), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec, host(b), &params), cudaErrorInvalidValue);  // added later
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec, nullptr, &params), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(nullptr, node, &params), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec, node, nullptr), cudaErrorInvalidValue);
  const cudaMemsetParams other_type = filling(1);
  EXPECT_EQ(cudaGraphExecMemsetNodeSetParams(exec, node, &other_type), cudaErrorInvalidValue);
  cudaGraphNodeParams generic{};
  generic.type = cudaGraphNodeTypeHost;
  generic.host.fn = params.fn;
  generic.host.userData = &c;
  OK(cudaGraphExecNodeSetParams(exec, node, &generic));
  generic.type = cudaGraphNodeTypeEmpty;
  EXPECT_EQ(cudaGraphExecNodeSetParams(exec, node, &generic), cudaErrorInvalidValue);
  OK(cudaGraphDestroyNode(node));
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec, node, &params), cudaErrorInvalidValue);
  run(exec);
  EXPECT_EQ(log.text(), "c");
}

}  // namespace
