// Memory and events that two processes of a host share. The second process is forked before CUDA is used.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "cuda_gate.h"

namespace {

// In the child, where a failure has to end the process.
#define NEED(condition) \
  if (!(condition)) _exit(__LINE__ % 250 + 1)

constexpr std::size_t kBytes = 1 << 20;

struct Pipe {
  int ends[2];
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  template <class T>
  void put(const T& value) {
    EXPECT_EQ(write(ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T take() {
    T value{};
    EXPECT_EQ(read(ends[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
};

class SharedBetweenProcesses : public testing::Test {
 protected:
  template <class Body>
  void in_child(Body body) {
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ > 0) return;
    body();
    _exit(0);
  }

  void TearDown() override {
    if (child_ <= 0) return;
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0) << "line of the child, modulo 250: " << WEXITSTATUS(status) - 1;
  }

  Pipe to_child_, to_parent_;
  pid_t child_ = -1;
};

TEST_F(SharedBetweenProcesses, MemoryIsTheSame) {
  in_child([&] {
    const auto handle = to_child_.take<cudaIpcMemHandle_t>();
    void *memory = nullptr, *again = nullptr;
    NEED(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    NEED(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess &&
         again == memory);
    cudaPointerAttributes attributes{};
    NEED(cudaPointerGetAttributes(&attributes, memory) == cudaSuccess);
    NEED(attributes.type == cudaMemoryTypeDevice);
    std::vector<unsigned char> seen(kBytes);
    NEED(cudaMemcpy(seen.data(), memory, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    NEED(seen[0] == 7 && seen[kBytes - 1] == 7);
    NEED(cudaMemset(memory, 9, kBytes) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    NEED(cudaFree(memory) == cudaErrorInvalidValue);
    NEED(cudaIpcCloseMemHandle(memory) == cudaSuccess);
    NEED(cudaPointerGetAttributes(&attributes, memory) == cudaSuccess);
    NEED(attributes.type == cudaMemoryTypeDevice);
    NEED(cudaIpcCloseMemHandle(memory) == cudaSuccess);
    NEED(cudaIpcCloseMemHandle(memory) == cudaErrorInvalidValue);
    to_parent_.put('d');
  });
  void* memory = nullptr;
  OK(cudaMalloc(&memory, kBytes));
  OK(cudaMemset(memory, 7, kBytes));
  OK(cudaDeviceSynchronize());
  cudaIpcMemHandle_t handle;
  OK(cudaIpcGetMemHandle(&handle, memory));
  to_child_.put(handle);
  to_parent_.take<char>();
  std::vector<unsigned char> seen(kBytes);
  OK(cudaMemcpy(seen.data(), memory, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen[0], 9);
  EXPECT_EQ(seen[kBytes - 1], 9);
  OK(cudaFree(memory));
}

TEST_F(SharedBetweenProcesses, AStreamWaitsForAnotherProcesssEvent) {
  in_child([&] {
    cudaEvent_t event = nullptr;
    NEED(cudaIpcOpenEventHandle(&event, to_child_.take<cudaIpcEventHandle_t>()) == cudaSuccess);
    NEED(cudaEventQuery(event) == cudaErrorNotReady);
    static std::atomic<bool> came_by{false};
    cudaStream_t stream = nullptr;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    NEED(cudaStreamWaitEvent(stream, event, 0) == cudaSuccess);
    NEED(cudaLaunchHostFunc(
             stream, [](void*) { came_by = true; }, nullptr) == cudaSuccess);
    usleep(100'000);
    NEED(!came_by && cudaStreamQuery(stream) == cudaErrorNotReady);
    to_parent_.put('w');
    NEED(cudaStreamSynchronize(stream) == cudaSuccess && came_by);
    NEED(cudaEventSynchronize(event) == cudaSuccess && cudaEventQuery(event) == cudaSuccess);
  });
  cudaEvent_t event = nullptr;
  OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Gate gate;
  OK(gate.put_into(stream));
  OK(cudaEventRecord(event, stream));
  cudaIpcEventHandle_t handle;
  OK(cudaIpcGetEventHandle(&handle, event));
  to_child_.put(handle);
  to_parent_.take<char>();
  gate.open();
  OK(cudaStreamSynchronize(stream));
}

TEST_F(SharedBetweenProcesses, NobodyWaitsForAProcessThatDied) {
  Pipe handles;
  in_child([&] {
    cudaEvent_t event = nullptr;
    NEED(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) == cudaSuccess);
    static Gate never_opened;
    NEED(never_opened.put_into(nullptr) == cudaSuccess && cudaEventRecord(event, nullptr) == cudaSuccess);
    cudaIpcEventHandle_t handle;
    NEED(cudaIpcGetEventHandle(&handle, event) == cudaSuccess);
    handles.put(handle);
    to_child_.take<char>();
  });
  cudaEvent_t event = nullptr;
  OK(cudaIpcOpenEventHandle(&event, handles.take<cudaIpcEventHandle_t>()));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  to_child_.put('e');
  TearDown();
  child_ = -1;
  OK(cudaEventSynchronize(event));
}

TEST_F(SharedBetweenProcesses, WhatCannotBeSharedIsRefused) {
  cudaIpcMemHandle_t handle{};
  void *memory = nullptr, *opened = nullptr;
  OK(cudaMalloc(&memory, kBytes));
  OK(cudaIpcGetMemHandle(&handle, memory));
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, 0), cudaErrorDeviceUninitialized) << "one's own";
  std::memset(&handle, 1, sizeof handle);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, 0), cudaErrorInvalidResourceHandle);
  OK(cudaMallocAsync(&memory, kBytes, nullptr));
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaErrorInvalidValue) << "of a pool";
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, &handle), cudaErrorInvalidValue) << "not the device's";
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue) << "with times";
  OK(cudaEventCreate(&event));
  cudaIpcEventHandle_t event_handle;
  EXPECT_EQ(cudaIpcGetEventHandle(&event_handle, event), cudaErrorInvalidResourceHandle);
}

TEST_F(SharedBetweenProcesses, MemoryIsPrivateWhereFilesAreLimited) {
  in_child([] {
    const rlimit limit{1 << 20, 1 << 20};
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    void* memory = nullptr;
    NEED(cudaMalloc(&memory, 4 * kBytes) == cudaSuccess);
    NEED(cudaMemset(memory, 1, 4 * kBytes) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    cudaIpcMemHandle_t handle{};
    NEED(cudaIpcGetMemHandle(&handle, memory) == cudaErrorNotSupported);
  });
}

TEST_F(SharedBetweenProcesses, FreedMemoryGivesItsRoomBack) {
  const auto shared_kilobytes = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("RssShmem:")) return std::stol(line.substr(9));
    return -1L;
  };
  void* memory = nullptr;
  constexpr std::size_t kLarge = 64 << 20;
  OK(cudaMalloc(&memory, kLarge));
  const long untouched = shared_kilobytes();
  OK(cudaMemset(memory, 1, kLarge));
  OK(cudaDeviceSynchronize());
  EXPECT_GE(shared_kilobytes() - untouched, long{kLarge >> 10});
  OK(cudaFree(memory));
  EXPECT_LE(shared_kilobytes(), untouched);
}

}  // namespace
