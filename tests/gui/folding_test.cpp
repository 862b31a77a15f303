// What becomes of events that are narrower than a pixel.
#include "viewer/view/folding.h"

#include <gtest/gtest.h>

namespace ddpscope::viewer {
namespace {

Bar bar(float left, float right, Kind kind) {
  Bar made;
  made.left = left, made.right = right, made.kind = kind;
  return made;
}

std::vector<Bar> folded(const std::vector<Bar>& all) {
  std::vector<Bar> bars;
  Folder folder(bars);
  for (const Bar& one : all) folder.add(one);
  return bars;
}

TEST(FoldingTest, WideBarsStayApart) {
  auto bars = folded({bar(0, 10, Kind::kFileRead), bar(10.2f, 30, Kind::kFileRead)});
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_FALSE(bars[0].folded);
}

TEST(FoldingTest, NarrowOnesBecomeARunOfTheKindThatTookMost) {
  auto bars =
      folded({bar(0, 0.1f, Kind::kTick), bar(0.3f, 1.2f, Kind::kFileWrite), bar(1.3f, 1.5f, Kind::kTick)});
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_TRUE(bars[0].folded);
  EXPECT_EQ(bars[0].count, 3u);
  EXPECT_EQ(bars[0].kind, Kind::kFileWrite);
  EXPECT_NEAR(bars[0].filled(), 1.2f / 1.5f, 0.01);
}

TEST(FoldingTest, AGapOfAPixelEndsTheRun) {
  EXPECT_EQ(folded({bar(0, 0.5f, Kind::kTick), bar(1.6f, 2, Kind::kTick)}).size(), 2u);
}

TEST(FoldingTest, TheWorstSeverityIsThatOfTheRun) {
  Bar bad = bar(0.5f, 0.6f, Kind::kTick);
  bad.severity = 3;
  auto bars = folded({bar(0, 0.4f, Kind::kFileRead), bad, bar(0.7f, 1, Kind::kFileRead)});
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].severity, 3);
}

TEST(FoldingTest, WhatNeverReturnedIsSeenAlone) {
  Bar open = bar(1, 1.1f, Kind::kWait);
  open.open = true;
  auto bars = folded({bar(0, 0.9f, Kind::kTick), open});
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_GE(bars[1].right - bars[1].left, kLeastOpenPx);
}

TEST(FoldingTest, AMillionBecomeNoMoreThanThePixels) {
  std::vector<Bar> bars;
  Folder folder(bars);
  for (int i = 0; i < 1'000'000; ++i) {
    float x = static_cast<float>(i) * 0.001f;
    folder.add(bar(x, x + 0.0009f, i % 3 ? Kind::kCompute : Kind::kCopy));
  }
  EXPECT_LE(bars.size(), 1000u);
  EXPECT_EQ(bars.front().kind, Kind::kCompute);
}

}  // namespace
}  // namespace ddpscope::viewer
