// Events of the stand-in: a wait is for the point of the record that was the latest when the wait was asked
// for.
#include "tests/standin/cuda_gate.h"

namespace {

struct EventTest : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }

  Log log;
  Log::Line a{&log, 'a'}, b{&log, 'b'};
  cudaStream_t first, second;
  cudaEvent_t event;
};

TEST_F(EventTest, OrdersTwoStreams) {
  OK(gate.put_into(first));
  OK(Log::put_into(first, a));
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(second, event, 0));
  OK(Log::put_into(second, b));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(log.text(), "ab");
}

TEST_F(EventTest, DoesNotWaitForWorkAfterItsRecord) {
  OK(Log::put_into(first, a));
  OK(cudaEventRecord(event, first));
  OK(gate.put_into(first));
  OK(cudaEventSynchronize(event));
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(log.text(), "a");
}

TEST_F(EventTest, SynchronizeWaitsForTheRecord) {
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));
  OpenLater later(gate);
  OK(cudaEventSynchronize(event));
  EXPECT_TRUE(later.opened());
}

TEST_F(EventTest, RecordedAgainDoesNotHoldUpWhoWaitedBefore) {
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(second, event, 0));
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));
  OK(Log::put_into(second, b));
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
}

TEST_F(EventTest, RecordedAgainDoesNotReleaseWhoWaitedBefore) {
  cudaStream_t idle;
  OK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(second, event, 0));
  OK(Log::put_into(second, b));
  OK(cudaEventRecord(event, idle));
  OK(cudaEventSynchronize(event));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(log.text(), "b");
}

TEST_F(EventTest, DestroyedAfterTheWaitStillOrders) {
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(second, event, 0));
  OK(cudaEventDestroy(event));
  OK(Log::put_into(second, b));
  EXPECT_EQ(log.settled_text(), "");
  gate.open();
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(log.text(), "b");
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
}

TEST_F(EventTest, OutlivesItsStream) {
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));
  OK(cudaStreamDestroy(first));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  gate.open();
  OK(cudaEventSynchronize(event));
}

TEST_F(EventTest, NeverRecordedIsComplete) {
  OK(cudaEventQuery(event));
  OK(cudaEventSynchronize(event));
  OK(cudaStreamWaitEvent(second, event, 0));
  OK(Log::put_into(second, b));
  OK(cudaStreamSynchronize(second));
}

TEST_F(EventTest, RecordOnLegacyStreamCapturesBlockingStreams) {
  cudaStream_t blocking;
  OK(cudaStreamCreate(&blocking));
  OK(gate.put_into(blocking));
  OK(cudaEventRecord(event, nullptr));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  OpenLater later(gate);
  OK(cudaEventSynchronize(event));
  EXPECT_TRUE(later.opened());
}

TEST_F(EventTest, RecordOnIdleBlockingStreamComesAfterLegacyStream) {
  cudaStream_t blocking;
  OK(cudaStreamCreate(&blocking));
  OK(gate.put_into(nullptr));
  OK(cudaEventRecord(event, blocking));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
}

TEST_F(EventTest, BelongsToTheDeviceItWasMadeOn) {
  cudaStream_t elsewhere;
  OK(cudaSetDevice(1));
  OK(cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking));
  EXPECT_EQ(cudaEventRecord(event, elsewhere), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  OK(gate.put_into(first));
  OK(cudaEventRecord(event, first));  // whatever device is current
  OK(cudaStreamWaitEvent(elsewhere, event, 0));
  EXPECT_EQ(cudaStreamQuery(elsewhere), cudaErrorNotReady);
}

TEST_F(EventTest, ElapsedTimeIsThatOfTheStream) {
  cudaEvent_t start, end;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
  OK(cudaEventRecord(start, first));
  OK(gate.put_into(first));
  OK(cudaEventRecord(end, first));
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
  OK(cudaEventSynchronize(start));
  { OpenLater later(gate); }
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 50.0F);
  EXPECT_EQ(cudaEventElapsedTime(&ms, event, end), cudaErrorInvalidResourceHandle);  // made without timing
}

}  // namespace
