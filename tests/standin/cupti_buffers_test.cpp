// How CUPTI's buffers come and go, what is dropped, and what is refused.
#include <sys/wait.h>

#include "tests/standin/cuda_kernels.h"
#include "tests/standin/cupti_client.h"

namespace {

struct BufferProtocol : CuptiTest {
  void SetUp() override {
    CuptiTest::SetUp();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&memory, 256));
  }

  void fill(int times) {
    for (int i = 0; i < times; ++i) OK(cudaMemsetAsync(memory, i, 16, stream));
  }

  static std::size_t dropped() {
    std::size_t count = 99;
    EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &count), CUPTI_SUCCESS);
    return count;
  }

  static std::size_t fills() { return trace().records<CUpti_ActivityMemset4>().size(); }

  cudaStream_t stream;
  void* memory = nullptr;
};

TEST(BufferCallbacks, ComeFirst) {
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, Trace::completed), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(Trace::requested, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(BufferProtocol, NothingIsAskedForWithoutRecords) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  finish();
  EXPECT_EQ(trace().requests, 0);
  EXPECT_EQ(trace().buffers(), 0U);
}

TEST_F(BufferProtocol, AnUnfinishedRecordHoldsItsBufferBack) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(1);
  OK(cudaStreamSynchronize(stream));
  OK(gate.put_into(stream));
  fill(1);
  CU(cuptiActivityFlushAll(0));
  EXPECT_EQ(trace().buffers(), 0U);
  gate.open();
  finish();
  EXPECT_EQ(trace().buffers(), 1U);
  EXPECT_EQ(trace().last_results[0], CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(fills(), 2U);
  EXPECT_EQ(dropped(), 0U);
}

TEST_F(BufferProtocol, AForcedFlushGivesUnfinishedRecordsAsInvalid) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(1);
  OK(cudaStreamSynchronize(stream));
  OK(gate.put_into(stream));
  fill(1);
  CU(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  ASSERT_EQ(trace().buffers(), 1U);
  EXPECT_EQ(trace().last_results[0], CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(fills(), 1U);
  gate.open();
  finish();
  EXPECT_EQ(fills(), 1U);  // the buffer was the client's when the fill ended
}

TEST_F(BufferProtocol, FullBuffersComeByThemselvesFromAnotherThread) {
  trace().most_records = 10;
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(25);
  trace().wait_for_buffers(2);
  EXPECT_EQ(fills(), 20U);
  EXPECT_NE(trace().completed_in[0], std::this_thread::get_id());
  finish();
  EXPECT_EQ(fills(), 25U);
  EXPECT_EQ(dropped(), 0U);
}

TEST_F(BufferProtocol, FullBuffersComeInThePeriodThatWasSet) {
  trace().buffer_bytes = 2 * sizeof(CUpti_ActivityMemset4) + 8;
  CU(cuptiActivityFlushPeriod(20));
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(5);
  trace().wait_for_buffers(2);
  EXPECT_EQ(fills(), 4U);
}

TEST_F(BufferProtocol, WithoutABufferRecordsAreDroppedAndCounted) {
  trace().buffer_bytes = 0;
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(3);
  finish();
  EXPECT_EQ(dropped(), 3U);
  EXPECT_EQ(dropped(), 0U);
  trace().buffer_bytes = 4096;
  fill(2);
  finish();
  EXPECT_EQ(fills(), 2U);
  EXPECT_EQ(dropped(), 0U);
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(BufferProtocol, ABufferTooSmallForARecordComesBackEmpty) {
  trace().buffer_bytes = 16;
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  fill(1);
  finish();
  EXPECT_EQ(dropped(), 1U);
  EXPECT_EQ(trace().buffers(), 1U);
  EXPECT_EQ(fills(), 0U);
}

TEST_F(BufferProtocol, ThreadsHaveBuffersOfTheirOwnUnlessAskedNotTo) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  const auto fill_in_thread = [&] { std::thread([&] { fill(3); }).join(); };
  fill_in_thread();
  fill_in_thread();
  finish();
  EXPECT_EQ(trace().requests, 2);
  EXPECT_EQ(fills(), 6U);

  std::uint8_t shared = 0;
  std::size_t bytes = sizeof shared;
  CU(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &shared));
  fill_in_thread();
  fill_in_thread();
  finish();
  EXPECT_EQ(trace().requests, 3);
  EXPECT_EQ(fills(), 12U);
}

TEST_F(BufferProtocol, AttributesReadAsTheyWereSet) {
  std::size_t value = 0, bytes = sizeof value;
  CU(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value));
  EXPECT_EQ(value, 3'200'000U);
  value = 1 << 20;
  CU(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value));
  value = 0;
  CU(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value));
  EXPECT_EQ(value, std::size_t{1} << 20);
  bytes = 2;
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  bytes = sizeof value;
  EXPECT_EQ(cuptiActivityGetAttribute(static_cast<CUpti_ActivityAttribute>(99), &bytes, &value),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, nullptr),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(Reading, EndsWhereNothingIsOrNothingFits) {
  alignas(8) std::uint8_t zeros[64] = {};
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(cuptiActivityGetNextRecord(nullptr, 64, &record), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityGetNextRecord(zeros, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(cuptiActivityGetNextRecord(zeros, 64, &record), CUPTI_ERROR_INVALID_KIND);
}

TEST(Library, HasVersionAndNamesOfResults) {
  std::uint32_t version = 0;
  CU(cuptiGetVersion(&version));
  EXPECT_EQ(version, static_cast<std::uint32_t>(CUPTI_API_VERSION));
  const char* text = nullptr;
  CU(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text));
  EXPECT_STREQ(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  EXPECT_EQ(cuptiGetResultString(static_cast<CUptiResult>(777), &text), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiGetVersion(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(Kinds, OutOfRangeAreInvalid) {
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT), CUPTI_ERROR_INVALID_KIND);
}

// A child of a process that used CUDA can use neither.
TEST_F(BufferProtocol, AForkedChildIsTurnedAway) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME});
  fill(1);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = cuptiActivityFlushAll(0) != CUPTI_SUCCESS && cudaMemset(memory, 0, 1) != cudaSuccess;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  finish();
  EXPECT_EQ(fills(), 1U);
}

}  // namespace
