// What is read of a rank's calls for its device, stretch by stretch.
#include "collector/patterns/device_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::patterns {
namespace {

using Kind = DeviceCall::Kind;

class DeviceCallsTest : public testing::Test {
 protected:
  DeviceCalls read(const std::string& calls, std::vector<Stretch> stretches, std::size_t most = 100) {
    tests::Recorded trace("process r0 rank=0 world=1 until=9\n" + calls);
    auto reading = trace.read();
    EXPECT_TRUE(reading.ok());
    alignment::align(reading->job);
    auto collectives = matching::find_collectives(reading->job);
    return read_device_calls(reading->job, collectives, 0, stretches, most);
  }
};

constexpr double kNear = 1000;  // ns: the trace's clock ticks

TEST_F(DeviceCallsTest, TellsWhatTheHostNeedsFromWhereItWaits) {
  auto read_calls = read(R"(
r0 1.000 +0.001 cudaLaunchKernel name="a" stream=0x5
r0 1.004 +0.002 cudaEventRecord stream=0x5 event=0x9
r0 1.010 +0.500 cudaStreamSynchronize stream=0x5
)",
                         {{900'000'000, 1'600'000'000}});
  ASSERT_EQ(read_calls.stretches.size(), 1u);
  const StretchOfCalls& stretch = read_calls.stretches.front();
  ASSERT_EQ(stretch.calls.size(), 3u);
  EXPECT_NEAR(stretch.calls[0].before_ns, 100e6, kNear);
  EXPECT_NEAR(stretch.calls[0].host_ns, 1e6, kNear);
  EXPECT_NEAR(stretch.calls[1].before_ns, 3e6, kNear);
  EXPECT_NEAR(stretch.calls[1].host_ns, 2e6, kNear);
  EXPECT_EQ(stretch.calls[2].kind, Kind::kWaitForStream);
  EXPECT_DOUBLE_EQ(stretch.calls[2].host_ns, 0);
  EXPECT_NEAR(stretch.after_ns, 90e6, kNear);
}

TEST_F(DeviceCallsTest, LaunchesInARowAreOneAndWaitsForRoomAreNone) {
  auto read_calls = read(R"(
r0 1.000 +0.001 cudaLaunchKernel name="a" stream=0x5
r0 1.002 +0.001 cudaLaunchKernel name="b" stream=0x5 count=2
r0 1.010 +0.500 cudaLaunchKernel name="c" stream=0x5
r0 1.600 +0.001 cudaLaunchKernel name="d" stream=0x6
)",
                         {{1'000'000'000, 2'000'000'000}});
  ASSERT_EQ(read_calls.stretches.front().calls.size(), 2u);
  const DeviceCall& run = read_calls.stretches.front().calls.front();
  EXPECT_EQ(run.launches, 4u);
  EXPECT_GT(run.host_ns, 10e6);  // up to the third launch
  EXPECT_LT(run.host_ns, 20e6);
}

TEST_F(DeviceCallsTest, ThreadsThatEnqueueNothingWaitForThemselves) {
  auto read_calls = read(R"(
r0/2 1.000 +0.500 cudaDeviceSynchronize
r0 1.000 +0.001 cudaLaunchKernel name="a" stream=0x5
)",
                         {{1'000'000'000, 2'000'000'000}});
  ASSERT_EQ(read_calls.stretches.front().calls.size(), 1u);
  EXPECT_EQ(read_calls.stretches.front().calls.front().kind, Kind::kLaunches);
}

TEST_F(DeviceCallsTest, StretchesThatFindNoRoomAreLeftOut) {
  std::string calls;
  for (const char* time : {"1.1", "2.1", "2.2", "2.3"})
    calls += std::string("r0 ") + time + " +0 cudaEventRecord stream=0x5 event=0x9\n";
  std::vector<Stretch> stretches{{1'000'000'000, 2'000'000'000}, {2'000'000'000, 3'000'000'000}};
  EXPECT_EQ(read(calls, stretches, 3).stretches.size(), 1u);
  EXPECT_EQ(read(calls, stretches, 4).stretches.size(), 2u);
}

TEST_F(DeviceCallsTest, AStretchWithoutCallsIsOne) {
  auto read_calls = read("r0 1.0 +0 cudaEventRecord stream=0x5 event=0x9\n",
                         {{2'000'000'000, 3'000'000'000}, {4'000'000'000, 5'000'000'000}});
  ASSERT_EQ(read_calls.stretches.size(), 2u);
  EXPECT_NEAR(read_calls.stretches[1].after_ns, 1e9, kNear);
}

}  // namespace
}  // namespace ddpscope::patterns
