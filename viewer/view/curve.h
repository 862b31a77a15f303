// Arrows between two places of the lanes, as cubic curves.
#pragma once
#include <array>
#include <vector>

namespace ddpscope::viewer {

struct Point {
  float x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

struct Curve {
  std::array<Point, 4> control;  // of a cubic Bezier
};

// Leaves and arrives vertically where the ends are on different heights, else in an arc above them.
Curve arrow_curve(Point from, Point to);
Point point_of(const Curve& curve, float part);  // part in 0..1
// `pieces` + 1 points, evenly spaced along the curve.
std::vector<Point> sampled(const Curve& curve, int pieces);

// The solid parts of a dashed line along `points`: start and end of each.
struct Dash {
  Point from, to;
};
std::vector<Dash> dashes(const std::vector<Point>& points, float dash_px, float gap_px);

// The tip's triangle for an arrow that ends in points.back(), `length` long.
std::array<Point, 3> arrow_head(const std::vector<Point>& points, float length);

}  // namespace ddpscope::viewer
