// Work for streams that tests hold back and let go: order is shown by what cannot have happened yet, not by
// time.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#define OK(call) ASSERT_EQ(call, cudaSuccess)

/// A stream comes to a halt where it meets a closed gate, until the test opens it.
class Gate {
 public:
  ~Gate() { open(); }

  cudaError_t put_into(cudaStream_t stream) { return cudaLaunchHostFunc(stream, pass_state, state_); }

  void pass() { pass_state(state_); }

  void open() {
    std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->opened.notify_all();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
  };

  static void pass_state(void* data) {
    State& state = *static_cast<State*>(data);
    std::unique_lock lock(state.mutex);
    state.opened.wait(lock, [&] { return state.open; });
  }

  State* const state_ = new State;  // never freed: a stream may still be on its way through
};

/// What came by, in which order, over all streams.
class Log {
 public:
  struct Line {
    Log* log;
    char letter;
  };

  /// `line` must outlive the stream's work.
  static cudaError_t put_into(cudaStream_t stream, Line& line) {
    return cudaLaunchHostFunc(
        stream,
        [](void* data) {
          const Line& came = *static_cast<Line*>(data);
          came.log->add(came.letter);
        },
        &line);
  }

  void add(char letter) {
    std::lock_guard lock(mutex_);
    text_ += letter;
  }

  std::string text() {
    std::lock_guard lock(mutex_);
    return text_;
  }

  /// The text after a while in which work that nothing holds back would have run. Right code never depends on
  /// it: it gives wrong code the time to show itself.
  std::string settled_text() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return text();
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

/// Opens the gate after a while, so that a call that waits for it can return.
class OpenLater {
 public:
  explicit OpenLater(Gate& gate)
      : thread_([this, &gate] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          opened_ = true;
          gate.open();
        }) {}
  ~OpenLater() { thread_.join(); }

  /// True as soon as the gate is (about to be) open: what returns with false has not waited.
  bool opened() const { return opened_; }

 private:
  std::atomic<bool> opened_{false};
  std::thread thread_;
};

/// A test that ends with nothing left in any stream, so that what the work refers to may go.
struct CudaTest : testing::Test {
  void TearDown() override {
    gate.open();
    int devices = 0;
    OK(cudaGetDeviceCount(&devices));
    for (int device = 0; device < devices; ++device) {
      OK(cudaSetDevice(device));
      OK(cudaDeviceSynchronize());
    }
    OK(cudaSetDevice(0));
    cudaGetLastError();
  }

  Gate gate;
};
