// First steps between two short sequences; letters are signatures, digits the places that they come from.
#include "collector/matching/edit_script.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ddpscope::matching {
namespace {

using Sequence = std::vector<std::string>;  // "A1": signature A from place 1

Step step(const Sequence& first, const Sequence& second) {
  return first_step(first.size(), second.size(), [&](std::size_t i, std::size_t j) {
    const std::string &a = first[i], &b = second[j];
    if (a == b) return 0;
    if (a[0] == b[0]) return kOtherSite;
    return a[1] == b[1] ? kSamePlace : kUnrelated;
  });
}

TEST(EditScript, ACallLeftOutInTheMiddle) {
  EXPECT_EQ(step({"B1", "X2", "Y3", "Z4"}, {"X2", "Y3", "Z4"}), Step::kOnlyFirst);
  EXPECT_EQ(step({"X2", "Y3", "Z4"}, {"B1", "X2", "Y3", "Z4"}), Step::kOnlySecond);
}

TEST(EditScript, ACallLeftOutAmongItsLikes) {
  EXPECT_EQ(step({"B1", "B2", "B3", "B4"}, {"B2", "B3", "B4"}), Step::kOnlyFirst);
}

TEST(EditScript, OtherArgumentsInTheSamePlace) {
  EXPECT_EQ(step({"A1", "Y2"}, {"X1", "Y2"}), Step::kDifferent);
  EXPECT_EQ(step({"A1"}, {"X1"}), Step::kDifferent);
}

TEST(EditScript, AnotherCallInItsPlace) {
  EXPECT_EQ(step({"A1", "Y2", "Z3"}, {"X9", "Y2", "Z3"}), Step::kDifferent);
}

TEST(EditScript, AnotherCallAmongThoseOfOnePlace) {
  EXPECT_EQ(step({"A1", "Y1"}, {"X9", "Y1"}), Step::kDifferent);
}

TEST(EditScript, TheSameCallFromTwoPlaces) {
  EXPECT_EQ(step({"B1", "X2", "Y3"}, {"B7", "X2", "Y3"}), Step::kMatch);
}

TEST(EditScript, BothEndHere) { EXPECT_EQ(step({"B1"}, {"X2"}), Step::kDifferent); }

TEST(EditScript, OneHangsTheOtherGoesOn) {
  EXPECT_EQ(step({"B1"}, {"X2", "X2", "X2"}), Step::kOnlyFirst);
  EXPECT_EQ(step({"X2", "X2", "X2"}, {"B1"}), Step::kOnlySecond);
}

TEST(EditScript, OneCallApartInTurnsOfTwo) {
  EXPECT_EQ(step({"A1", "B2", "A1", "B2"}, {"B2", "A1", "B2", "A1"}), Step::kOnlyOne);
  EXPECT_EQ(step({"A1", "B2", "A1", "B2", "C3"}, {"B2", "A1", "B2", "C3"}), Step::kOnlyFirst);
}

TEST(EditScript, OfTwoWaysThatCostTheSameTheOneThatFindsCallsAgain) {
  EXPECT_EQ(step({"A1", "B2"}, {"B2"}), Step::kOnlyFirst);
}

TEST(EditScript, LongerThanTheLookAhead) {
  Sequence with(200, "X2");
  with.insert(with.begin(), "B1");
  EXPECT_EQ(step(with, Sequence(200, "X2")), Step::kOnlyFirst);
}

}  // namespace
}  // namespace ddpscope::matching
