// The sampler deals every sample out once, pads evenly, and its two faults do not.
#include "reference_trainer/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace reference_trainer {
namespace {

using testing::UnorderedElementsAreArray;

std::map<int64_t, int> times_dealt(int64_t samples, int64_t step_samples, int shards) {
  std::map<int64_t, int> times;
  for (int shard = 0; shard < shards; ++shard) {
    for (int64_t index : Sampler(samples, step_samples, shard, shards, 1).indices()) ++times[index];
  }
  return times;
}

TEST(Sampler, DealsEverySampleOutOnce) {
  const auto times = times_dealt(64, 4, 4);
  ASSERT_EQ(times.size(), 64u);
  for (const auto& [index, count] : times) EXPECT_EQ(count, 1) << index;
}

TEST(Sampler, PadsToWholeSteps) {
  const auto times = times_dealt(61, 4, 4);
  ASSERT_EQ(times.size(), 61u);
  int total = 0;
  for (const auto& [index, count] : times) total += count;
  EXPECT_EQ(total, 64);
}

TEST(Sampler, OrderChangesWithTheEpochOnly) {
  Sampler sampler(64, 4, 0, 1, 1);
  const auto first = sampler.indices();
  EXPECT_EQ(sampler.indices(), first);
  sampler.set_epoch(1);
  EXPECT_NE(sampler.indices(), first);
  EXPECT_THAT(sampler.indices(), UnorderedElementsAreArray(first));
}

TEST(Sampler, ShardsOfAStepFormTheBatchOfOneRank) {
  const auto whole = Sampler(64, 8, 0, 1, 1).indices();
  std::vector<int64_t> step;
  for (int shard = 0; shard < 2; ++shard) {
    const auto own = Sampler(64, 4, shard, 2, 1).indices();
    step.insert(step.end(), own.begin(), own.begin() + 4);
  }
  EXPECT_THAT(step, UnorderedElementsAreArray(whole.begin(), whole.begin() + 8));
}

TEST(Sampler, FaultsDealEverythingToEverybody) {
  Arguments arguments;
  arguments.samples = 64;
  arguments.faults.select_fault("unsharded-sampler/no-sampler");
  EXPECT_EQ(make_sampler(arguments, 0, 2).indices(), make_sampler(arguments, 1, 2).indices());
  arguments.faults.select_fault("unsharded-sampler/shuffle-each");
  EXPECT_NE(make_sampler(arguments, 0, 2).indices(), make_sampler(arguments, 1, 2).indices());
  EXPECT_THAT(make_sampler(arguments, 0, 2).indices(),
              UnorderedElementsAreArray(make_sampler(arguments, 1, 2).indices()));
}

}  // namespace
}  // namespace reference_trainer
