// What a collective takes by itself, from waits of known length.
#include "collector/patterns/link_cost.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::patterns {
namespace {

std::optional<LinkCost> learn(const std::string& calls) {
  tests::Recorded trace(R"(
let small = ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7
let large = ncclBroadcast communicator=1 peer=0 count=250000 datatype=f32 stream=0x7
let wait = cudaStreamSynchronize stream=0x7
for r in 0..1 {
  process r$r rank=$r world=2 until=10
  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
}
)" + calls);
  auto reading = trace.read();
  if (!reading) return std::nullopt;
  alignment::align(reading->job);
  auto collectives = matching::find_collectives(reading->job);
  return learn_link_cost(reading->job, collectives, ordering::find_device_order(reading->job, collectives));
}

// A call that is issued at 1 s and known to be complete on rank 0 after so many seconds; rank 1's host is
// late.
std::string waited(const std::string& call, const std::string& at, const std::string& seconds) {
  return "r0,r1 " + at + " +0 $" + call + "\nr0 " + at + "00001 +" + seconds + " $wait\nr1 " + at +
         "00001 +0.900 $wait\n";
}

constexpr double kTolerance = 20'000;  // ns: between the call and its wait

TEST(LinkCost, WhatIsAddedNowAndThenCounts) {
  auto cost = learn(waited("small", "1.000", "0.001") + waited("small", "2.000", "0.001") +
                    waited("small", "3.000", "0.004") + waited("large", "4.000", "0.011"));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->ns_per_call, 2e6, kTolerance);         // the mean, of the quickest host
  EXPECT_NEAR(cost->ns_per_byte * 1e6, 10e6, kTolerance);  // what the large one takes beyond a call at best
}

// A sixth at both ends: one of six that was held up for long, and the quickest.
TEST(LinkCost, OfFewTheOneThatWasHeldUpDoesNotCount) {
  std::string calls = waited("large", "9.000", "0.012");
  for (int i = 1; i <= 5; ++i) calls += waited("small", std::to_string(i) + ".000", "0.002");
  auto cost = learn(calls + waited("small", "6.000", "0.030"));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->ns_per_call, 2e6, kTolerance);
}

TEST(LinkCost, NotAloneOnEachRankIsNoMeasure) {
  std::string busy = "r1 1.950 +0.0001 cudaLaunchKernel name=\"late\" stream=0x5\n";
  auto cost = learn(waited("small", "1.000", "0.001") + busy + waited("small", "2.000", "0.500") +
                    waited("small", "3.000", "0.001") + waited("large", "4.000", "0.011"));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->ns_per_call, 1e6, kTolerance);
}

TEST(LinkCost, FewBytesSayNothingOfMany) {
  EXPECT_FALSE(learn(waited("small", "1.000", "0.001") + waited("small", "2.000", "0.001")));
}

}  // namespace
}  // namespace ddpscope::patterns
