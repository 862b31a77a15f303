// The pipeline of kernels and reductions, against cases that can be done in the head.
#include "collector/detectors/accumulation_cost.h"

#include <gtest/gtest.h>

namespace ddpscope::detectors {
namespace {

TEST(AccumulationCost, ReductionsBesideKernelsAreFree) {
  ReductionSet hidden{{0.5}, {30}};
  EXPECT_DOUBLE_EQ(micro_batch_ns(hidden, 100), 100);
}

TEST(AccumulationCost, WhatIsNotHiddenIsAdded) {
  ReductionSet late{{1.0}, {30}};
  EXPECT_DOUBLE_EQ(micro_batch_ns(late, 100), 130);
  ReductionSet queued{{0.5, 1.0}, {80, 30}};  // the second waits for the first: 50 + 80 + 30
  EXPECT_DOUBLE_EQ(micro_batch_ns(queued, 100), 160);
}

TEST(AccumulationCost, SavesAllButOneOfTheExposedReductions) {
  ReductionSet late{{1.0}, {30}};
  EXPECT_NEAR(saved_ns(late, 4, 4 * 130), 3 * 30, 0.01);
  ReductionSet hidden{{0.5}, {30}};
  EXPECT_NEAR(saved_ns(hidden, 4, 4 * 100), 0, 0.01);
}

TEST(AccumulationCost, ReductionsLongerThanTheStepLeaveNothingToSolve) {
  ReductionSet impossible{{1.0}, {1000}};
  EXPECT_LE(saved_ns(impossible, 2, 200), 100);
}

}  // namespace
}  // namespace ddpscope::detectors
