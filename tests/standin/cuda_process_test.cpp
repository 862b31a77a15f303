// The stand-in in the life of a process: fork, exit with work pending, calls that are not provided.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/standin/cuda_gate.h"

namespace {

struct ProcessTest : CudaTest {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Runs `body` in a forked child, which then ends as a program does; its exit code, or -1 for another end.
template <class Body>
int exit_code_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ProcessTest, ChildForkedAfterUseGetsInitializationError) {
  cudaStream_t stream;
  void* pointer;
  OK(cudaStreamCreate(&stream));
  OK(cudaMalloc(&pointer, 100));
  OK(gate.put_into(stream));
  OK(gate.put_into(cudaStreamPerThread));
  const int code = exit_code_of_child([&] {
    int count = 0, device = 0;
    const cudaError_t results[] = {cudaStreamSynchronize(stream),
                                   cudaDeviceSynchronize(),
                                   cudaMemset(pointer, 0, 100),
                                   cudaFree(pointer),
                                   cudaGetDeviceCount(&count),
                                   cudaSetDevice(1),
                                   cudaGetDevice(&device),
                                   gate.put_into(stream),
                                   cudaStreamSynchronize(cudaStreamPerThread)};
    for (const cudaError_t result : results) {
      if (result != cudaErrorInitializationError) return 1;
    }
    return cudaGetLastError() == cudaErrorInitializationError ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  gate.open();
  OK(cudaStreamSynchronize(stream));  // the parent goes on
}

TEST_F(ProcessTest, ChildForkedBeforeUseCanUseCuda) {
  const int code = exit_code_of_child([] {
    cudaStream_t stream;
    if (cudaStreamCreate(&stream) != cudaSuccess) return 1;
    if (cudaLaunchHostFunc(
            stream, [](void*) {}, nullptr) != cudaSuccess)
      return 2;
    return cudaStreamSynchronize(stream) == cudaSuccess ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(ProcessTest, EndsWithWorkPending) {
  EXPECT_EXIT(
      {
        alarm(20);
        cudaStream_t stream;
        void* pointer;
        auto& never_opened = *new Gate;
        const bool queued = cudaStreamCreate(&stream) == cudaSuccess &&
                            cudaMalloc(&pointer, 1 << 20) == cudaSuccess &&
                            never_opened.put_into(stream) == cudaSuccess &&
                            cudaMemsetAsync(pointer, 1, 1 << 20, stream) == cudaSuccess &&
                            never_opened.put_into(cudaStreamPerThread) == cudaSuccess &&
                            cudaMemset(pointer, 1, 1 << 20) == cudaSuccess;
        std::exit(queued ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ProcessTest, WhatIsNotProvidedSaysOnceWhoAsked) {
  testing::internal::CaptureStderr();
  cudaArray_t array;
  EXPECT_EQ(cudaMallocArray(&array, nullptr, 1), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(cudaMallocArray(&array, nullptr, 1), cudaErrorNotSupported);
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string start = "standin libcudart: cudaMallocArray is not provided; ";
  const std::string end = "cuda_standin_test asked and got cudaErrorNotSupported\n";
  EXPECT_TRUE(said.starts_with(start) && said.ends_with(end)) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

TEST_F(ProcessTest, ThreadsThatEndTakeTheirOwnStreamsAlong) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      OK(cudaLaunchHostFunc(
          cudaStreamPerThread, [](void*) {}, nullptr));
    }).join();
  }
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 1000 && threads() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(threads(), before);
}

}  // namespace
