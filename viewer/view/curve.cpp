// Arrows between two places of the lanes, as cubic curves.
#include "viewer/view/curve.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

float distance(Point a, Point b) { return std::hypot(b.x - a.x, b.y - a.y); }
Point mixed(Point a, Point b, float part) { return {a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part}; }

}  // namespace

Curve arrow_curve(Point from, Point to) {
  float down = to.y - from.y;
  if (std::abs(down) < 12) {
    float lift = std::clamp(std::abs(to.x - from.x) / 4, 12.0f, 40.0f);
    return {{from, {from.x, from.y - lift}, {to.x, to.y - lift}, to}};
  }
  return {{from, {from.x, from.y + down * 0.45f}, {to.x, to.y - down * 0.45f}, to}};
}

Point point_of(const Curve& curve, float part) {
  const auto& c = curve.control;
  Point ab = mixed(c[0], c[1], part), bc = mixed(c[1], c[2], part), cd = mixed(c[2], c[3], part);
  return mixed(mixed(ab, bc, part), mixed(bc, cd, part), part);
}

std::vector<Point> sampled(const Curve& curve, int pieces) {
  int fine = pieces * 4;
  std::vector<Point> raw;
  std::vector<float> way{0};
  for (int i = 0; i <= fine; ++i) {
    raw.push_back(point_of(curve, static_cast<float>(i) / fine));
    if (i > 0) way.push_back(way.back() + distance(raw[i - 1], raw[i]));
  }
  std::vector<Point> even{raw.front()};
  std::size_t at = 1;
  for (int piece = 1; piece < pieces; ++piece) {
    float wanted = way.back() * piece / pieces;
    while (at + 1 < way.size() && way[at] < wanted) ++at;
    float step = way[at] - way[at - 1];
    even.push_back(mixed(raw[at - 1], raw[at], step > 0 ? (wanted - way[at - 1]) / step : 0));
  }
  even.push_back(raw.back());
  return even;
}

std::vector<Dash> dashes(const std::vector<Point>& points, float dash_px, float gap_px) {
  std::vector<Dash> parts;
  float period = dash_px + gap_px, passed = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    Point a = points[i - 1], b = points[i];
    float length = distance(a, b), at = 0;
    while (at < length) {
      float phase = std::fmod(passed + at, period);
      bool on = phase < dash_px;
      // Never less than a thousandth: where rounding leaves nothing, the walk must go on.
      float until = std::min(length, at + std::max((on ? dash_px : period) - phase, 1e-3f));
      if (on) parts.push_back({mixed(a, b, at / length), mixed(a, b, until / length)});
      at = until;
    }
    passed += length;
  }
  return parts;
}

std::array<Point, 3> arrow_head(const std::vector<Point>& points, float length) {
  Point tip = points.back();
  std::size_t i = points.size() - 1;
  while (i > 0 && distance(points[i], tip) < length) --i;
  Point tail = points[i];
  float way = std::max(distance(tail, tip), 1e-3f);
  Point along{(tip.x - tail.x) / way, (tip.y - tail.y) / way};
  Point base{tip.x - along.x * length, tip.y - along.y * length};
  float half = length * 0.45f;
  return {tip,
          {base.x - along.y * half, base.y + along.x * half},
          {base.x + along.y * half, base.y - along.x * half}};
}

}  // namespace ddpscope::viewer
