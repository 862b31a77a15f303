// Host functions that are launched as kernels: the private entry points of the stand-in libcudart.
#include "standin/cuda/operator_launch.h"

#include <dlfcn.h>

#include <array>

#include "tests/standin/cuda_gate.h"
#include "tests/standin/cuda_kernels.h"

namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// What a launch carries: what became of it.
struct Note {
  Log* log;
  char letter;
  std::atomic<int> calls{0};
  std::atomic<int> releases{0};

  static void call(void* data) {
    Note& note = *static_cast<Note*>(data);
    ++note.calls;
    note.log->add(note.letter);
  }
  static void release(void* data) { ++static_cast<Note*>(data)->releases; }
};

struct OperatorLaunchTest : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ASSERT_NE(kernel = find<decltype(standin_kernel)>("standin_kernel")("aten::test"), nullptr);
  }

  int launch(Note& note) { return launch_on(note, stream); }
  int launch_on(Note& note, cudaStream_t where) {
    return find<decltype(standin_launch)>("standin_launch")(kernel, Note::call, &note, Note::release, where);
  }

  cudaStream_t stream = nullptr;
  const void* kernel = nullptr;
  Log log;
  Note a{&log, 'a'}, b{&log, 'b'};
};

TEST_F(OperatorLaunchTest, RunsInStreamOrderAndIsReleasedOnce) {
  OK(gate.put_into(stream));
  ASSERT_EQ(launch(a), cudaSuccess);
  ASSERT_EQ(launch(b), cudaSuccess);
  EXPECT_EQ(log.settled_text(), "");
  EXPECT_EQ(a.releases, 0);
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(log.text(), "ab");
  EXPECT_EQ(a.releases, 1);
  EXPECT_EQ(b.releases, 1);
}

TEST_F(OperatorLaunchTest, TheSameNameIsTheSameKernel) {
  const auto kernel_of = find<decltype(standin_kernel)>("standin_kernel");
  EXPECT_EQ(kernel_of("aten::test"), kernel);
  EXPECT_NE(kernel_of("aten::other"), kernel);
  const char* name = nullptr;
  OK(cudaFuncGetName(&name, kernel));
  EXPECT_STREQ(name, "aten::test");
}

TEST_F(OperatorLaunchTest, ALaunchThatFailsReleasesAndCallsNothing) {
  OK(cudaSetDevice(1));  // the stream is device 0's
  EXPECT_EQ(launch(a), cudaErrorInvalidResourceHandle);
  OK(cudaSetDevice(0));
  EXPECT_EQ(a.calls, 0);
  EXPECT_EQ(a.releases, 1);
}

TEST_F(OperatorLaunchTest, ACapturedLaunchRunsAtEachReplayAndIsReleasedWithTheGraph) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ASSERT_EQ(launch(a), cudaSuccess);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphDestroy(graph));
  EXPECT_EQ(a.calls, 0);
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(a.calls, 3);
  EXPECT_EQ(a.releases, 0);
  OK(cudaGraphExecDestroy(executable));
  EXPECT_EQ(a.releases, 1);
}

TEST_F(OperatorLaunchTest, WaitReturnsWhenAllIsDone) {
  OK(gate.put_into(stream));
  ASSERT_EQ(launch(a), cudaSuccess);
  OpenLater opener(gate);
  EXPECT_EQ(find<decltype(standin_wait)>("standin_wait")(stream), cudaSuccess);
  EXPECT_TRUE(opener.opened());
  EXPECT_EQ(a.calls, 1);
}

TEST_F(OperatorLaunchTest, WaitRefusesWhileTheStreamCaptures) {
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(find<decltype(standin_wait)>("standin_wait")(stream), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph;
  EXPECT_NE(cudaStreamEndCapture(stream, &graph), cudaSuccess);
}

TEST_F(OperatorLaunchTest, NothingRunsAfterStop) {
  OK(gate.put_into(stream));
  ASSERT_EQ(launch(a), cudaSuccess);
  find<decltype(standin_stop)>("standin_stop")();
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(a.calls, 0);
  EXPECT_EQ(a.releases, 0);
}

TEST_F(OperatorLaunchTest, RequiredBodiesAreMissedAtTheLaunch) {
  int* value;
  OK(cudaMalloc(&value, sizeof(int)));
  launch_without_body(value, stream);
  OK(cudaGetLastError());
  find<decltype(standin_require_bodies)>("standin_require_bodies")();
  launch_without_body(value, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
  ASSERT_EQ(launch(a), cudaSuccess);
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(a.calls, 1);
}

// The last of its process: every later call fails.
struct OperatorFailureTest : testing::Test {};

TEST_F(OperatorFailureTest, WhoWaitsForWorkThatFailsIsNotToldThatItSucceeded) {
  cudaStream_t stream;
  Gate gate;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(gate.put_into(stream));
  const auto fails = [](void*) { find<decltype(standin_fail)>("standin_fail")("aten::test failed"); };
  const void* kernel = find<decltype(standin_kernel)>("standin_kernel")("aten::test");
  testing::internal::CaptureStderr();
  ASSERT_EQ(find<decltype(standin_launch)>("standin_launch")(kernel, fails, nullptr, nullptr, stream),
            cudaSuccess);
  OpenLater opener(gate);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "standin libcudart: aten::test failed\n");
}

}  // namespace
