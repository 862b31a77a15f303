// Device times of collectives: whose they are, how waiting and transfer are told apart, bus bandwidth.
#include "collector/patterns/collective_times.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "collector/alignment/align.h"
#include "collector/patterns/collective_summary.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::patterns {
namespace {

const std::string kTwoRanks = R"(
process r0 rank=0 world=2 until=9
process r1 rank=1 world=2 until=9
r0 0.1 +0.01 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
r1 0.1 +0.01 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
)";

class CollectiveTimesTest : public testing::Test {
 protected:
  const CollectiveTimes& read(const std::string& text) {
    tests::Recorded trace(kTwoRanks + text);
    auto reading = trace.read();
    EXPECT_TRUE(reading.ok());
    alignment::align(reading->job);
    job_ = std::make_unique<model::Job>(std::move(reading->job));
    collectives_ = matching::find_collectives(*job_);
    times_ = std::make_unique<CollectiveTimes>(*job_, collectives_);
    return *times_;
  }

  // What is summarised of it: one row, else the test fails.
  CollectiveClass only_row(const std::string& text) {
    auto rows = summarise_collective_times(*job_, collectives_, read(text));
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? CollectiveClass{} : rows.front();
  }

  std::unique_ptr<model::Job> job_;
  matching::Collectives collectives_;
  std::unique_ptr<CollectiveTimes> times_;
};

const char* const kReduced = "r* 1.0 +0.001 ncclAllReduce communicator=1 count=1M datatype=f32 stream=0x7\n";

TEST_F(CollectiveTimesTest, WaitingIsWhatIsLongerThanTheShortest) {
  const CollectiveTimes& times = read(std::string(kReduced) +
                                      "r0/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n"
                                      "r1/2 1.036 +0.004 gpu kind=collective communicator=1 sequence=0\n");
  auto split = times.split(0, 0);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->last, 1u);
  EXPECT_NEAR(static_cast<double>(split->transfer_ns), 4e6, 10);
  EXPECT_NEAR(static_cast<double>(split->longest_ns), 30e6, 10);
  auto rows = summarise_collective_times(*job_, collectives_, times);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].size, 22u);  // 4 MiB
  EXPECT_EQ(rows[0].count, 1u);
  EXPECT_NEAR(rows[0].bytes_per_second, 4 * 1048576 / 0.004, 1e4);  // two ranks: 2(n-1)/n is 1
}

TEST_F(CollectiveTimesTest, EndsMayBeApartByATransfer) {
  // Ends are less apart than the transfer is long: part of it is on its way.
  auto split = read(std::string(kReduced) +
                    "r0/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n"
                    "r1/2 1.0380 +0.004 gpu kind=collective communicator=1 sequence=0\n")
                   .split(0, 0);
  ASSERT_TRUE(split);
  EXPECT_NEAR(static_cast<double>(split->transfer_ns), 4e6, 10);
}

TEST_F(CollectiveTimesTest, PartsOfOneAreOneTime) {
  const CollectiveTimes& times = read(std::string(kReduced) +
                                      "r0/2 1.020 +0.020 gpu kind=collective communicator=1 sequence=0\n"
                                      "r0/2 1.010 +0.015 gpu kind=collective communicator=1 sequence=0\n");
  const DeviceTime* time = times.of(0);
  ASSERT_TRUE(time);
  EXPECT_NEAR(static_cast<double>(time->length_ns()), 30e6, 10);
}

TEST_F(CollectiveTimesTest, EndsThatAreFarApartTellNothing) {
  const CollectiveTimes& times = read(std::string(kReduced) +
                                      "r0/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n"
                                      "r1/2 1.060 +0.004 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_TRUE(times.any());
  EXPECT_FALSE(times.split(0, 0));
}

TEST_F(CollectiveTimesTest, AllMembersHaveToBeTimed) {
  const CollectiveTimes& times =
      read(std::string(kReduced) + "r0/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_TRUE(times.any());
  EXPECT_FALSE(times.split(0, 0));
}

TEST_F(CollectiveTimesTest, WhatSharesTheTimeOfAGroupHasNoTransferOfItsOwn) {
  const CollectiveTimes& times = read(
      "r* 2.000 +0.0001 ncclGroupStart depth=0\n"
      "r* 2.001 +0.0001 ncclAllReduce communicator=1 count=2M datatype=f32 stream=0x7\n"
      "r* 2.002 +0.0001 ncclAllReduce communicator=1 count=2M datatype=f32 stream=0x7\n"
      "r* 2.003 +0.0010 ncclGroupEnd depth=0\n"
      "r* 2.100 +0.0001 ncclAllReduce communicator=1 count=2M datatype=f32 stream=0x7\n"
      "r*/2 2.010 +0.020 gpu kind=collective communicator=1 sequence=0\n"
      "r*/2 2.010 +0.020 gpu kind=collective communicator=1 sequence=1\n"
      "r*/2 2.110 +0.010 gpu kind=collective communicator=1 sequence=2\n");
  EXPECT_TRUE(times.shared(0) && times.shared(1));
  EXPECT_FALSE(times.shared(2));
  auto rows = summarise_collective_times(*job_, collectives_, times);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 1u);
  EXPECT_NEAR(static_cast<double>(rows[0].transfer_ns), 10e6, 10);
}

// Rank 1 is there at 1.010, the root at 1.036; the last byte has come at 1.0405.
const char* const kBroadcast =
    "r* 1.0 +0.001 ncclBroadcast communicator=1 count=1M datatype=f32 stream=0x7 peer=0\n"
    "r0/2 1.036 +0.004 gpu kind=collective communicator=1 sequence=0\n"
    "r1/2 1.010 +0.0305 gpu kind=collective communicator=1 sequence=0\n";

TEST_F(CollectiveTimesTest, WhoIsSentToWaitsForTheRoot) {
  CollectiveClass row = only_row(kBroadcast);
  EXPECT_EQ(row.operation, trace::Operation::kBroadcast);
  EXPECT_NEAR(static_cast<double>(row.transfer_ns), 4.5e6, 10);
  EXPECT_NEAR(static_cast<double>(row.wait_ns), 26e6, 10);
  EXPECT_NEAR(row.bytes_per_second, 4 * 1048576 / 0.0045, 1e4);
}

TEST_F(CollectiveTimesTest, ARootWaitsForAllThatSendToIt) {
  CollectiveClass row = only_row(
      "r* 1.0 +0.001 ncclReduce communicator=1 count=1M datatype=f32 stream=0x7 peer=1\n"
      "r0/2 1.036 +0.001 gpu kind=collective communicator=1 sequence=0\n"
      "r1/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_NEAR(static_cast<double>(row.transfer_ns), 4e6, 10);
  EXPECT_NEAR(static_cast<double>(row.wait_ns), 26e6, 10);
}

TEST_F(CollectiveTimesTest, WhoSendsWaitsForNobody) {
  CollectiveClass row = only_row(
      "r* 1.0 +0.001 ncclBroadcast communicator=1 count=1M datatype=f32 stream=0x7 peer=0\n"
      "r0/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n"
      "r1/2 1.036 +0.004 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_EQ(row.wait_ns, 0);
  EXPECT_NEAR(static_cast<double>(row.transfer_ns), 4e6, 10);
}

TEST_F(CollectiveTimesTest, AMessageHasToBeSent) {
  CollectiveClass row = only_row(
      "r0 1.0 +0.001 ncclSend communicator=1 count=1M datatype=f32 stream=0x7 peer=1\n"
      "r1 1.0 +0.001 ncclRecv communicator=1 count=1M datatype=f32 stream=0x7 peer=0\n"
      "r0/2 1.050 +0.010 gpu kind=collective communicator=1 sequence=0\n"
      "r1/2 1.020 +0.041 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_EQ(row.operation, trace::Operation::kSend);
  EXPECT_EQ(row.ranks, 2);
  EXPECT_NEAR(static_cast<double>(row.transfer_ns), 11e6, 10);
  EXPECT_NEAR(static_cast<double>(row.wait_ns), 30e6, 10);
}

TEST_F(CollectiveTimesTest, MomentsThatAreNotKnownWellEnoughTellNothing) {
  const std::string clock = "r1 0.6 +0 device_clock device_ns=5 host=0.6 error_ns=";
  EXPECT_EQ(summarise_collective_times(*job_, collectives_, read(kBroadcast + clock + "2000000\n")).size(),
            1u);
  EXPECT_TRUE(
      summarise_collective_times(*job_, collectives_, read(kBroadcast + clock + "3000000\n")).empty());
}

TEST_F(CollectiveTimesTest, LengthsDoNotSplitBroadcasts) {
  const CollectiveTimes& times = read(
      "r* 1.0 +0.001 ncclBroadcast communicator=1 count=1M datatype=f32 stream=0x7\n"
      "r*/2 1.010 +0.030 gpu kind=collective communicator=1 sequence=0\n");
  EXPECT_NE(times.of(0), nullptr);
  EXPECT_FALSE(times.split(0, 0));
}

// A profiler knows the kernel and its call, no sequence; of a group one kernel for all.
TEST_F(CollectiveTimesTest, AreFoundByTheCallThatEnqueuedThem) {
  const CollectiveTimes& times =
      read(std::string(kReduced) +
           "r* 2.000 +0.0001 ncclGroupStart depth=0\n"
           "r* 2.001 +0.0001 ncclAllReduce communicator=1 count=2M datatype=f32 stream=0x7\n"
           "r* 2.002 +0.0001 ncclAllReduce communicator=1 count=4M datatype=f32 stream=0x7\n"
           "r* 2.003 +0.0010 ncclGroupEnd depth=0\n"
           "r*/2 1.010 +0.030 gpu kind=kernel name=\"ncclDevKernel_AllReduce\" thread=1 called=1.0005\n"
           "r*/2 2.010 +0.020 gpu kind=kernel name=\"ncclDevKernel_AllReduce\" thread=1 called=2.0035\n"
           "r*/2 2.040 +0.020 gpu kind=kernel name=\"adamw\" thread=1 called=2.0035\n");
  ASSERT_NE(times.of(0), nullptr);
  EXPECT_NEAR(static_cast<double>(times.of(0)->length_ns()), 30e6, 10);
  for (std::uint32_t call : {1u, 2u}) {
    ASSERT_NE(times.of(call), nullptr);
    EXPECT_NEAR(static_cast<double>(times.of(call)->length_ns()), 20e6, 10);
  }
}

}  // namespace
}  // namespace ddpscope::patterns
