// Streams of the stand-in: what comes after what, what waits for what.
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/standin/cuda_gate.h"

namespace {

struct StreamTest : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  }

  Log log;
  Log::Line a{&log, 'a'}, b{&log, 'b'};
  cudaStream_t blocking, apart;
};

TEST_F(StreamTest, RunsItsWorkInOrder) {
  OK(gate.put_into(apart));
  OK(Log::put_into(apart, a));
  OK(Log::put_into(apart, b));
  gate.open();
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(StreamTest, QueryTellsWhetherWorkIsLeft) {
  OK(gate.put_into(apart));
  EXPECT_EQ(cudaStreamQuery(apart), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  gate.open();
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(cudaStreamQuery(apart), cudaSuccess);
}

TEST_F(StreamTest, TwoStreamsDoNotWaitForEachOther) {
  cudaStream_t other;
  OK(cudaStreamCreate(&other));
  OK(gate.put_into(blocking));
  OK(Log::put_into(other, a));
  OK(cudaStreamSynchronize(other));
  EXPECT_EQ(log.text(), "a");
}

TEST_F(StreamTest, LegacyStreamComesAfterBlockingStreams) {
  OK(gate.put_into(blocking));
  OK(Log::put_into(blocking, a));
  OK(Log::put_into(nullptr, b));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(StreamTest, BlockingStreamComesAfterLegacyStream) {
  OK(gate.put_into(cudaStreamLegacy));
  OK(Log::put_into(nullptr, a));
  OK(Log::put_into(blocking, b));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(blocking));
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(StreamTest, LegacyStreamOrdersTwoBlockingStreams) {
  cudaStream_t other;
  OK(cudaStreamCreate(&other));
  Log::Line c{&log, 'c'};
  OK(gate.put_into(blocking));
  OK(Log::put_into(blocking, a));
  OK(Log::put_into(nullptr, b));
  OK(Log::put_into(other, c));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(other));
  EXPECT_EQ(log.text(), "abc");
}

TEST_F(StreamTest, NonBlockingStreamStandsApartFromLegacyStream) {
  OK(gate.put_into(nullptr));
  OK(Log::put_into(apart, a));
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(log.text(), "a");
  gate.open();
  OK(cudaStreamSynchronize(nullptr));

  Gate second;
  OK(second.put_into(apart));
  OK(Log::put_into(nullptr, b));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(StreamTest, SynchronizingLegacyStreamWaitsForBlockingStreams) {
  OK(gate.put_into(blocking));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  OpenLater later(gate);
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(later.opened());
}

TEST_F(StreamTest, SynchronizingLegacyStreamActsOnTheCurrentDeviceOnly) {
  OK(gate.put_into(nullptr));
  OK(cudaSetDevice(1));
  OK(cudaStreamQuery(nullptr));
  OK(cudaStreamSynchronize(nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(0));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
}

TEST_F(StreamTest, DeviceSynchronizeWaitsForEveryStream) {
  OK(gate.put_into(apart));
  OpenLater later(gate);
  OK(cudaDeviceSynchronize());
  EXPECT_TRUE(later.opened());
}

TEST_F(StreamTest, DestroyedStreamFinishesItsWork) {
  OK(gate.put_into(blocking));
  OK(Log::put_into(blocking, a));
  OK(cudaStreamDestroy(blocking));
  EXPECT_EQ(log.text(), "");
  OpenLater later(gate);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(log.text(), "a");
  EXPECT_EQ(cudaStreamSynchronize(blocking), cudaErrorInvalidResourceHandle);
}

TEST_F(StreamTest, PerThreadStreamIsTheThreadsOwn) {
  OK(gate.put_into(cudaStreamPerThread));
  std::thread other([&] {
    OK(Log::put_into(cudaStreamPerThread, a));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
  });
  other.join();
  EXPECT_EQ(log.text(), "a");
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);  // it is a blocking stream
}

TEST_F(StreamTest, CallbackGetsItsStreamAndData) {
  static cudaStream_t called_for = nullptr;
  static void* called_with = nullptr;
  OK(cudaStreamAddCallback(
      apart,
      [](cudaStream_t stream, cudaError_t status, void* data) {
        if (status == cudaSuccess) called_for = stream, called_with = data;
      },
      &log, 0));
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(called_for, apart);
  EXPECT_EQ(called_with, &log);
}

TEST_F(StreamTest, HostFunctionMayNotCallCuda) {
  static cudaError_t inside = cudaSuccess;
  OK(cudaLaunchHostFunc(
      apart, [](void*) { inside = cudaDeviceSynchronize(); }, nullptr));
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(inside, cudaErrorNotPermitted);
}

TEST_F(StreamTest, TellsWhatItIs) {
  cudaStream_t urgent;
  OK(cudaSetDevice(3));
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -99));
  OK(cudaSetDevice(0));
  int priority = 0, device = -1;
  unsigned flags = 0;
  unsigned long long id = 0, other_id = 0;
  OK(cudaStreamGetPriority(urgent, &priority));
  OK(cudaStreamGetFlags(urgent, &flags));
  OK(cudaStreamGetDevice(urgent, &device));
  OK(cudaStreamGetId(urgent, &id));
  OK(cudaStreamGetId(blocking, &other_id));
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_EQ(device, 3);
  EXPECT_NE(id, other_id);
}

TEST_F(StreamTest, UnusedStreamsCostNoThread) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  for (int i = 0; i < 100; ++i) {
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(stream, event, 0));
    OK(cudaStreamSynchronize(stream));
  }
  EXPECT_EQ(threads(), before);
}

TEST_F(StreamTest, ThreadsBlockAllSignals) {
  static std::atomic<int> unblocked{-1};
  OK(cudaLaunchHostFunc(
      apart,
      [](void*) {
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        int missing = 0;
        for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPROF, SIGHUP}) {
          missing += sigismember(&blocked, signal) == 0;
        }
        unblocked = missing;
      },
      nullptr));
  OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(unblocked, 0);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);  // the caller's own mask is as before
}

TEST_F(StreamTest, AttributesAreKept) {
  cudaStream_t stream = nullptr, other = nullptr;
  OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -2));
  OK(cudaStreamCreate(&other));
  cudaLaunchAttributeValue value{};
  OK(cudaStreamGetAttribute(stream, cudaLaunchAttributePriority, &value));
  EXPECT_EQ(value.priority, -2);
  OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyAuto);
  value.syncPolicy = cudaSyncPolicyYield;
  OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  OK(cudaStreamCopyAttributes(other, stream));
  value = {};
  OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyYield);
  OK(cudaStreamGetAttribute(other, cudaLaunchAttributePriority, &value));
  EXPECT_EQ(value.priority, -2);
  EXPECT_EQ(cudaStreamSetAttribute(stream, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetAttribute(stream, cudaLaunchAttributePriority, nullptr), cudaErrorInvalidValue);
}

}  // namespace
