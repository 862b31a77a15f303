// Graphs of the stand-in that the program puts together itself: nodes, order, copies, updates, user objects.
#include "tests/standin/cuda_graph_fixture.h"

namespace {

struct ConditionalTest : GraphTest {
  // Its bodies. The value is that one at each launch.
  cudaGraph_t* conditional(cudaGraphConditionalNodeType type, unsigned value, unsigned bodies) {
    EXPECT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault),
              cudaSuccess);
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional = {.handle = handle, .type = type, .size = bodies, .phGraph_out = nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params), cudaSuccess);
    return params.conditional.phGraph_out;
  }

  static cudaGraphNode_t add_to(cudaGraph_t body, cudaHostFn_t function, void* data) {
    const cudaHostNodeParams params{function, data};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddHostNode(&node, body, nullptr, 0, &params), cudaSuccess);
    return node;
  }

  cudaGraphConditionalHandle handle = 0;
};

TEST_F(ConditionalTest, ABodyRunsAsItsConditionSays) {
  const auto say = [](void* data) {
    const auto* line = static_cast<Log::Line*>(data);
    line->log->add(line->letter);
  };
  for (const unsigned value : {0U, 1U, 2U}) {
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphCreate(&graph, 0));
    cudaGraph_t* const either = conditional(cudaGraphCondTypeIf, value, 2);
    add_to(either[0], say, &a);
    add_to(either[1], say, &b);
    run(instantiated());
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphCreate(&graph, 0));
    add_to(conditional(cudaGraphCondTypeSwitch, value, 2)[1], say, &c);
    run(instantiated());
  }
  EXPECT_EQ(log.text(), "baca");
}

// What a kernel sets is written at the handle; a host function does it here.
TEST_F(ConditionalTest, ABodyRunsUntilItsConditionIsZero) {
  add_to(
      conditional(cudaGraphCondTypeWhile, 3, 1)[0],
      [](void* data) {
        const auto* test = static_cast<ConditionalTest*>(data);
        test->a.log->add('a');
        --*reinterpret_cast<std::atomic<unsigned>*>(test->handle);
      },
      this);
  const cudaGraphExec_t exec = instantiated();
  run(exec);
  run(exec);  // the value is 3 again
  EXPECT_EQ(log.text(), "aaaaaa");
}

TEST_F(ConditionalTest, AConditionalNodeNeedsAHandleOfOurs) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional = {.handle = 7, .type = cudaGraphCondTypeIf, .size = 1, .phGraph_out = nullptr};
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params), cudaErrorInvalidValue);
}

TEST_F(ConditionalTest, ABodyIsCopiedWithItsGraph) {
  const cudaGraphNode_t first = add_to(conditional(cudaGraphCondTypeIf, 1, 1)[0], saying(a).fn, &a);
  const cudaGraphNode_t second = host(b);
  const cudaGraphExec_t exec = instantiated();
  const cudaHostNodeParams other = saying(c), nothing{[](void*) {}, nullptr};
  OK(cudaGraphHostNodeSetParams(first, &other));
  OK(cudaGraphExecHostNodeSetParams(exec, second, &nothing));
  run(exec);
  OK(cudaGraphExecHostNodeSetParams(exec, first, &other));
  run(exec);
  EXPECT_EQ(log.text(), "ac");
}

TEST_F(ConditionalTest, AnUpdateReachesBodies) {
  add_to(conditional(cudaGraphCondTypeIf, 1, 1)[0], saying(a).fn, &a);
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphCreate(&graph, 0));
  const cudaGraph_t body = conditional(cudaGraphCondTypeIf, 1, 1)[0];
  const cudaGraphNode_t node = add_to(body, saying(b).fn, &b);
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, graph, &info));
  const cudaHostNodeParams later = saying(c);
  OK(cudaGraphHostNodeSetParams(node, &later));  // is none of the executable graph
  run(exec);
  OK(cudaGraphCreate(&graph, 0));
  conditional(cudaGraphCondTypeIf, 0, 2);
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorParametersChanged);
  EXPECT_EQ(log.text(), "b");
}

TEST_F(GraphTest, NodesRunInTheirOrder) {
  const cudaGraphNode_t last = host(a);
  const cudaGraphNode_t first = host(b);
  OK(cudaGraphAddDependencies(graph, &first, &last, nullptr, 1));
  host(c, {last});
  size_t count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  OK(cudaGraphNodeGetDependencies(last, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
  OK(cudaGraphNodeGetDependentNodes(last, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
  run(instantiated());
  EXPECT_EQ(log.text(), "bac");
}

TEST_F(GraphTest, CirclesAreRefused) {
  const cudaGraphNode_t first = host(a), second = host(b, {first});
  OK(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1));
  cudaGraphExec_t exec;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
  OK(cudaGraphRemoveDependencies(graph, &second, &first, nullptr, 1));
  run(instantiated());
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(GraphTest, EveryKindOfNode) {
  int sum = 0;
  void* arguments[2];
  struct {
    char bytes[5];
  } padding{{0, 0, 0, 0, 'x'}};
  arguments[0] = &padding;
  arguments[1] = &memory;
  const cudaKernelNodeParams kernel = count_kernel(arguments);
  cudaMemsetParams fill{memory, 0, 0, 4, 1, 1};
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  cudaGraphNode_t filled, counted, copied, recorded, empty;
  OK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  OK(cudaGraphAddKernelNode(&counted, graph, &filled, 1, &kernel));
  OK(cudaGraphAddEventRecordNode(&recorded, graph, &counted, 1, event));
  OK(cudaGraphAddMemcpyNode1D(&copied, graph, &recorded, 1, &sum, memory, 4, cudaMemcpyDeviceToHost));
  OK(cudaGraphAddEmptyNode(&empty, graph, &copied, 1));
  run(instantiated());
  EXPECT_EQ(sum, 2);
  OK(cudaEventQuery(event));
  const cudaGraphNodeType kinds[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel,
                                     cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeMemcpy,
                                     cudaGraphNodeTypeEmpty};
  const cudaGraphNode_t all[] = {filled, counted, recorded, copied, empty};
  for (int i = 0; i < 5; ++i) {
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(all[i], &type));
    EXPECT_EQ(type, kinds[i]);
  }
}

TEST_F(GraphTest, WhatIsReadyDoesNotChangeWithItsGraph) {
  host(a);
  const cudaGraphExec_t exec = instantiated();
  host(b);
  OK(cudaGraphDestroy(graph));
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  run(exec);
  EXPECT_EQ(log.text(), "a");
}

TEST_F(GraphTest, LaunchesOfOneComeOneAfterTheOther) {
  cudaStream_t second;
  OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  const cudaHostNodeParams pass{[](void* data) { static_cast<Gate*>(data)->pass(); }, &gate};
  cudaGraphNode_t held;
  OK(cudaGraphAddHostNode(&held, graph, nullptr, 0, &pass));
  host(a, {held});
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaGraphLaunch(exec, second));
  OK(Log::put_into(second, b));
  OK(cudaGraphExecDestroy(exec));  // what was launched runs all the same
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(log.text(), "aab");
}

TEST_F(GraphTest, AChildIsACopy) {
  host(a);
  cudaGraph_t parent;
  cudaGraphNode_t child, found;
  OK(cudaGraphCreate(&parent, 0));
  OK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
  const cudaGraphNode_t later = host(b);
  cudaGraph_t copy;
  OK(cudaGraphClone(&copy, graph));
  OK(cudaGraphNodeFindInClone(&found, later, copy));
  EXPECT_NE(found, later);
  EXPECT_EQ(cudaGraphNodeFindInClone(&found, child, copy), cudaErrorInvalidValue);
  graph = parent;
  host(c, {child});
  run(instantiated());
  EXPECT_EQ(log.text(), "ac");
}

TEST_F(GraphTest, AnUpdateChangesWhatNodesDo) {
  host(b, {host(a)});
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphCreate(&graph, 0));
  host(c, {host(b)});
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, graph, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  run(exec);
  EXPECT_EQ(log.text(), "bc");
  host(a);
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraphGetNodes(graph, nullptr, nullptr);
  run(exec);
  EXPECT_EQ(log.text(), "bcbc");
}

TEST_F(GraphTest, KernelsGetOtherArguments) {
  struct {
    char bytes[5];
  } padding{{0, 0, 0, 0, 'x'}};
  int* second = memory + 1;
  void* arguments[] = {&padding, &memory};
  cudaKernelNodeParams kernel = count_kernel(arguments);
  cudaGraphNode_t node;
  OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  const cudaGraphExec_t exec = instantiated();
  run(exec);
  arguments[1] = &second;
  kernel.blockDim = dim3(5);
  OK(cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
  run(exec);
  EXPECT_EQ(memory[0], 2);
  EXPECT_EQ(memory[1], 5);
}

TEST_F(GraphTest, UserObjectsLiveAsLongAsWhatUsesThem) {
  static std::atomic<int> ended;
  ended = 0;
  cudaUserObject_t object;
  OK(cudaUserObjectCreate(
      &object, nullptr, [](void*) { ++ended; }, 1, cudaUserObjectNoDestructorSync));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  host(a);
  const cudaGraphExec_t exec = instantiated();
  OK(cudaGraphDestroy(graph));
  run(exec);
  EXPECT_EQ(ended, 0);
  OK(cudaGraphExecDestroy(exec));
  for (int i = 0; i < 1000 && !ended; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ended, 1);
}

TEST_F(GraphTest, WideGraphsRunSideBySide) {
  // Each of two passes only after the other has come.
  static std::atomic<int> came;
  came = 0;
  const cudaHostNodeParams meet{[](void*) {
                                  ++came;
                                  while (came < 2) std::this_thread::yield();
                                },
                                nullptr};
  cudaGraphNode_t one, two;
  OK(cudaGraphAddHostNode(&one, graph, nullptr, 0, &meet));
  OK(cudaGraphAddHostNode(&two, graph, nullptr, 0, &meet));
  for (int i = 0; i < 20; ++i) host(a, {one, two});
  run(instantiated());
  EXPECT_EQ(log.text().size(), 20u);
}

}  // namespace
