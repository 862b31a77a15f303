// Arrows end where they should, and dashes cover their part of the way.
#include "viewer/view/curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ddpscope::viewer {
namespace {

float length(const Dash& part) { return std::hypot(part.to.x - part.from.x, part.to.y - part.from.y); }

TEST(CurveTest, BeginsAndEndsAtItsPlaces) {
  for (Point to : {Point{300, 400}, Point{300, 12}, Point{10, -200}}) {
    auto points = sampled(arrow_curve({10, 10}, to), 32);
    EXPECT_EQ(points.size(), 33u);
    EXPECT_EQ(points.front(), (Point{10, 10}));
    EXPECT_EQ(points.back(), to);
  }
}

TEST(CurveTest, PiecesAreEquallyLong) {
  auto points = sampled(arrow_curve({0, 0}, {400, 300}), 16);
  float first = std::hypot(points[1].x - points[0].x, points[1].y - points[0].y);
  for (std::size_t i = 1; i < points.size(); ++i)
    EXPECT_NEAR(std::hypot(points[i].x - points[i - 1].x, points[i].y - points[i - 1].y), first, first * 0.1);
}

TEST(CurveTest, BetweenEqualHeightsItRisesAboveBoth) {
  EXPECT_LT(point_of(arrow_curve({0, 100}, {200, 100}), 0.5f).y, 90);
}

TEST(DashTest, CoversItsShareAndStaysWithinTheLine) {
  float covered = 0;
  for (const Dash& part : dashes({{0, 0}, {50, 0}, {100, 0}}, 6, 4)) {
    covered += length(part);
    EXPECT_LE(part.to.x, 100.001);
    EXPECT_LE(length(part), 6.001);
  }
  EXPECT_NEAR(covered, 60, 0.1);
}

TEST(DashTest, ALineOfNoLengthHasNone) { EXPECT_TRUE(dashes({{5, 5}, {5, 5}}, 6, 4).empty()); }

TEST(ArrowHeadTest, PointsAlongTheWay) {
  auto head = arrow_head({{0, 0}, {100, 0}}, 10);
  EXPECT_EQ(head[0], (Point{100, 0}));
  EXPECT_NEAR(head[1].x, 90, 0.01);
  EXPECT_NEAR(head[1].y, -head[2].y, 0.01);
}

}  // namespace
}  // namespace ddpscope::viewer
