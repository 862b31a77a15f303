// The bound holds whatever is drawn: rates, offsets, stragglers, few exchanges; and clocks that no line
// explains are told from those that one does.
#include "collector/alignment/offset_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace ddpscope::alignment {
namespace {

constexpr double kSecond = 1e9;

// The second clock's reading at each one of the first.
using Clock = std::function<double(double)>;

Clock straight(double offset_ns, double ppm) {
  return [=](double ns) { return ns + offset_ns + ns * ppm * 1e-6; };
}

// Exchanges between two hosts: each has begun at some time, and knows later that both have.
class Drawn {
 public:
  Drawn(std::uint32_t seed, double seconds, Clock second)
      : random_(seed), length_(seconds * kSecond), second_(std::move(second)) {}

  std::mt19937& random() { return random_; }
  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }

  // `late`: by how much the second host begins later than the first one, in the mean.
  void meet(OffsetBounds& bounds, double at, double jitter, double late) {
    double first = at + uniform(0, jitter), second = at + std::max(0.0, late + uniform(-jitter, jitter));
    double done = std::max(first, second) + uniform(10e3, 60e3);
    double first_knows = done + uniform(0, 30e3), second_knows = done + uniform(0, 30e3);
    if (uniform(0, 1) < 0.9) bounds.first_before_second(rounded(first), rounded(second_(second_knows)));
    if (uniform(0, 1) < 0.9) bounds.second_before_first(rounded(second_(second)), rounded(first_knows));
  }

  OffsetBounds bounds() const { return OffsetBounds(0, rounded(length_)); }
  ClockPair clocks(double wander) const {
    return {0, rounded(length_), rounded(second_(0)), rounded(second_(length_)), wander};
  }
  double length() const { return length_; }
  static std::int64_t rounded(double ns) { return std::llround(ns); }

  // By how much the line is off at most, ns.
  double error_of(const OffsetLine& line) const {
    double worst = 0;
    for (int i = 0; i <= 1000; ++i) {
      double at = length_ * i / 1000;
      worst = std::max(worst, std::abs(second_(at) - at - offset_at(line, at)));
    }
    return worst;
  }

 private:
  static double offset_at(const OffsetLine& line, double at) {
    std::size_t i = 0;
    while (i + 2 < line.nodes.size() && static_cast<double>(line.nodes[i + 1].at_ns) <= at) ++i;
    const OffsetNode &from = line.nodes[i], &to = line.nodes[i + 1];
    double part = (at - static_cast<double>(from.at_ns)) / static_cast<double>(to.at_ns - from.at_ns);
    return static_cast<double>(from.offset_ns) + part * static_cast<double>(to.offset_ns - from.offset_ns);
  }

  std::mt19937 random_;
  double length_;
  Clock second_;
};

TEST(OffsetBounds, TrueOffsetIsWithinTheBoundWhateverIsDrawn) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 draw(seed);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(draw); };
    Drawn job(seed + 1000, uniform(0.5, 300), straight(uniform(-2, 2) * kSecond, uniform(-200, 200)));
    OffsetBounds bounds = job.bounds();
    int meetings = static_cast<int>(std::exp(uniform(1, 8)));
    double jitter = std::exp(uniform(10, 17)), late = uniform(0, 1) < 0.5 ? 0 : uniform(-5e6, 5e6);
    for (int i = 0; i < meetings; ++i) job.meet(bounds, job.uniform(0, job.length()), jitter, late);
    Offset offset = bounds.solve(job.clocks(2e-6));
    if (meetings < 20 && !offset.line) continue;  // one side may never have been told
    ASSERT_TRUE(offset.line) << "seed " << seed;
    EXPECT_TRUE(offset.line->steady) << "seed " << seed;
    EXPECT_LE(job.error_of(*offset.line), static_cast<double>(offset.line->error_ns)) << "seed " << seed;
  }
}

TEST(OffsetBounds, ASecondAndAHundredPpmAreFoundToSomeMicroseconds) {
  Drawn job(7, 20, straight(kSecond, 100));
  OffsetBounds bounds = job.bounds();
  for (int i = 0; i < 2000; ++i) job.meet(bounds, job.uniform(0, job.length()), 300e3, 0);
  Offset offset = bounds.solve(job.clocks(2e-6));
  ASSERT_TRUE(offset.line);
  EXPECT_LE(job.error_of(*offset.line), static_cast<double>(offset.line->error_ns));
  EXPECT_LT(offset.line->error_ns, 100'000);
}

TEST(OffsetBounds, OneMeetingLeavesTheRateOpen) {
  Drawn job(1, 100, straight(kSecond, 50));
  OffsetBounds bounds = job.bounds();
  bounds.first_before_second(1'000'000, 1'001'100'000);
  bounds.second_before_first(1'001'000'000, 1'100'000);
  Offset offset = bounds.solve(job.clocks(2e-6));
  ASSERT_TRUE(offset.line);
  EXPECT_GT(offset.line->error_ns, 90'000'000);  // a thousandth of 100 s
  EXPECT_LE(job.error_of(*offset.line), static_cast<double>(offset.line->error_ns));
}

TEST(OffsetBounds, WhatGoesOneWayOnlyBoundsNothing) {
  OffsetBounds bounds(0, 1'000'000'000);
  for (int i = 1; i < 100; ++i) bounds.first_before_second(i * 1'000'000, i * 1'000'000 + 100);
  Offset offset = bounds.solve({0, 1'000'000'000, 0, 1'000'000'000, 2e-6});
  EXPECT_FALSE(offset.line);
  EXPECT_EQ(offset.why, NoLine::kUnbounded);
}

// A clock whose rate changes half way, by more than clocks wander.
TEST(OffsetBounds, ARateThatChangesIsFollowedAndTold) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    auto second = [](double ns) { return ns + kSecond + 50e-6 * std::max(0.0, ns - 30 * kSecond); };
    Drawn job(seed, 60, second);
    OffsetBounds bounds = job.bounds();
    for (int i = 0; i < 3000; ++i) job.meet(bounds, job.uniform(0, job.length()), 100e3, 0);
    Offset offset = bounds.solve(job.clocks(2e-6));
    ASSERT_TRUE(offset.line) << "seed " << seed;
    EXPECT_FALSE(offset.line->steady);
    EXPECT_LE(job.error_of(*offset.line), static_cast<double>(offset.line->error_ns)) << "seed " << seed;
  }
}

// A host that was suspended for two seconds: its clock stood still.
TEST(OffsetBounds, AClockThatStoodStillIsAContradiction) {
  auto second = [](double ns) { return ns < 20 * kSecond ? ns : ns - 2 * kSecond; };
  Drawn job(3, 60, second);
  OffsetBounds bounds = job.bounds();
  for (int i = 0; i < 3000; ++i) job.meet(bounds, job.uniform(0, job.length()), 100e3, 0);
  Offset offset = bounds.solve(job.clocks(2e-6));
  EXPECT_FALSE(offset.line);
  EXPECT_EQ(offset.why, NoLine::kContradiction);
}

// A small jump may pass for rates that differ: then the bound is as wide as what it hides.
TEST(OffsetBounds, AJumpIsNoticedOrWithinTheBound) {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    std::mt19937 draw(seed);
    double jump = std::exp(std::uniform_real_distribution<>(9, 19)(draw));
    auto second = [jump](double ns) { return ns < 25 * kSecond ? ns : ns + jump; };
    Drawn job(seed, 60, second);
    OffsetBounds bounds = job.bounds();
    for (int i = 0; i < 1000; ++i) job.meet(bounds, job.uniform(0, job.length()), 100e3, 0);
    Offset offset = bounds.solve(job.clocks(2e-6));
    if (!offset.line) continue;
    EXPECT_LE(job.error_of(*offset.line), static_cast<double>(offset.line->error_ns))
        << "seed " << seed << ", jump of " << jump << " ns";
  }
}

}  // namespace
}  // namespace ddpscope::alignment
