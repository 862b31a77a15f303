// When collectives are timed, and that it stays in its budget.
#include "injector/device_times/sampling.h"

#include <gtest/gtest.h>

namespace ddpscope::injector {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kElapsed = 1'000'000'000;

TEST(Sampling, AllIsTimedInTheFirstStretchAndAtLevelNone) {
  for (std::uint64_t wall = 0; wall < 600 * kSecond; wall += kSecond) {
    EXPECT_TRUE(is_sampled(9, 29 * kSecond, wall));
    EXPECT_TRUE(is_sampled(0, 3600 * kSecond, wall));
  }
}

TEST(Sampling, StretchesAreWholeAndAHigherLevelChoosesAmongThoseOfALower) {
  const std::uint64_t age = 3600 * kSecond;
  std::size_t sampled = 0;
  for (std::uint64_t wall = 0; wall < 64 * kStretchNs; wall += kSecond) {
    sampled += is_sampled(3, age, wall);
    EXPECT_EQ(is_sampled(3, age, wall), is_sampled(3, age, wall / kStretchNs * kStretchNs));
    for (std::uint32_t level = 1; level <= 9; ++level)
      EXPECT_TRUE(!is_sampled(level, age, wall) || is_sampled(level - 1, age, wall));
  }
  EXPECT_EQ(sampled, 64 * kStretchNs / kSecond / 8);
}

TEST(Sampling, TheLevelKeepsTheBudgetAndIsNoHigherThanThat) {
  for (std::uint64_t cost = 1; cost < kElapsed; cost = cost * 5 / 4 + 1) {
    std::uint32_t level = next_level(0, cost, kElapsed);
    EXPECT_LE((cost >> level) * 500, kElapsed);
    if (level > 0) {
      EXPECT_GT((cost >> (level - 1)) * 500, kElapsed);
    }
    EXPECT_EQ(next_level(level, cost, kElapsed), level) << "it is steady";
  }
}

TEST(Sampling, TheLevelFallsWithTheCostAndNotAtOnce) {
  std::uint32_t level = next_level(0, kElapsed / 60, kElapsed);
  EXPECT_EQ(level, 4u);
  EXPECT_EQ(next_level(level, kElapsed / 70, kElapsed), level);
  EXPECT_EQ(next_level(level, kElapsed / 150, kElapsed), 3u);
  EXPECT_EQ(next_level(level, kElapsed / 250, kElapsed), 2u);
  EXPECT_EQ(next_level(level, kElapsed / 2000, kElapsed), 0u);
  EXPECT_EQ(next_level(level, 0, kElapsed), 0u);
}

TEST(Sampling, WhatCostsMoreThanAllIsTimedALittle) { EXPECT_EQ(next_level(0, 100 * kElapsed, kElapsed), 9u); }

}  // namespace
}  // namespace ddpscope::injector
