// A line over a window is a point: its offsets at the window's two ends. What is known cuts half-planes off.
#include "collector/alignment/line_search.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::alignment {
namespace {

// Two clocks, each of them calibrated and then disciplined, do not run further apart than this: NTP corrects
// a rate by up to 500 ppm (adjtimex(2)).
constexpr double kMaxDrift = 1e-3;
// Processors' clocks of one host may differ by some 100 ns, and folded times are good to 16 ticks.
constexpr double kReadingError = 250;     // ns
constexpr double kFar = 1e15;             // ns; no bound at all
constexpr std::size_t kMostWindows = 64;  // as OffsetBounds keeps them apart

struct Point {
  double p, q;  // the offsets at the window's begin and end
};

// a p + b q <= c.
struct HalfPlane {
  double a, b, c;
  double excess(const Point& at) const { return a * at.p + b * at.q - c; }
};

// Convex; empty if nothing is left.
class Polygon {
 public:
  Polygon() : corners_{{-kFar, -kFar}, {kFar, -kFar}, {kFar, kFar}, {-kFar, kFar}} {}

  void cut(const HalfPlane& keep) {
    std::vector<Point> left;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      const Point &from = corners_[i], &to = corners_[(i + 1) % corners_.size()];
      double here = keep.excess(from), there = keep.excess(to);
      if (here <= 0) left.push_back(from);
      if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
        double part = here / (here - there);
        left.push_back({from.p + part * (to.p - from.p), from.q + part * (to.q - from.q)});
      }
    }
    corners_ = std::move(left);
  }
  const std::vector<Point>& corners() const { return corners_; }

 private:
  std::vector<Point> corners_;
};

}  // namespace

LineSearch::LineSearch(const std::vector<OffsetNode>& upper, const std::vector<OffsetNode>& lower,
                       const ClockPair& clocks)
    : upper_(upper),
      lower_(lower),
      clocks_(clocks),
      base_(std::ranges::max(lower, {}, &OffsetNode::offset_ns).offset_ns) {
  std::int64_t lowest = std::ranges::min(upper, {}, &OffsetNode::offset_ns).offset_ns;
  // What the second clock did, by the first one's reading: no further off than the offset is uncertain.
  auto span = static_cast<double>(clocks.last_ns - clocks.first_ns);
  double unsure = std::abs(static_cast<double>(lowest - base_)) + 2 * kMaxDrift * span;
  auto since = [&](std::int64_t ns) {
    return static_cast<double>(static_cast<long double>(ns) - static_cast<long double>(base_) -
                               static_cast<long double>(clocks.first_ns));
  };
  first_ = std::min(0.0, since(clocks.second_first_ns) - unsure);
  last_ = std::max(span, since(clocks.second_last_ns) + unsure) + 1;
}

std::vector<double> LineSearch::nodes_of(std::size_t count) const {
  auto span = static_cast<double>(clocks_.last_ns - clocks_.first_ns);
  std::vector<double> nodes{first_};
  for (std::size_t i = 1; i < count; ++i)
    nodes.push_back(span * static_cast<double>(i) / static_cast<double>(count));
  nodes.push_back(last_);
  return nodes;
}

bool LineSearch::ends_of(double begin, double end, double slack, Range& at_begin, Range& at_end) const {
  Polygon lines;
  double length = end - begin;
  lines.cut({-1, 1, kMaxDrift * length});
  lines.cut({1, -1, kMaxDrift * length});
  auto cut_by = [&](const std::vector<OffsetNode>& points, double side) {
    auto from = clocks_.first_ns + static_cast<std::int64_t>(std::floor(begin));
    auto earlier = [](const OffsetNode& point, std::int64_t ns) { return point.at_ns < ns; };
    for (auto point = std::lower_bound(points.begin(), points.end(), from, earlier); point != points.end();
         ++point) {
      double at = static_cast<double>(point->at_ns - clocks_.first_ns);
      if (at > end) return;
      double part = (at - begin) / length;
      double limit = side * static_cast<double>(point->offset_ns - base_) + kReadingError + slack;
      lines.cut({side * (1 - part), side * part, limit});
    }
  };
  cut_by(upper_, 1);
  cut_by(lower_, -1);
  if (lines.corners().empty()) return false;
  at_begin = at_end = {kFar, -kFar};
  for (const Point& corner : lines.corners()) {
    at_begin = {std::min(at_begin.low, corner.p), std::max(at_begin.high, corner.p)};
    at_end = {std::min(at_end.low, corner.q), std::max(at_end.high, corner.q)};
  }
  return true;
}

double LineSearch::Windows::error() const {
  double widest = 0;
  for (const Range& range : ranges) widest = std::max(widest, (range.high - range.low) / 2);
  return widest + slack;
}

// What ends one window begins the next, and between two nodes the offset changes by no more than the drift.
std::optional<LineSearch::Windows> LineSearch::search(std::size_t count, double leave) const {
  Windows found{nodes_of(count), std::vector<Range>(count + 1, {-kFar, kFar}), 0};
  auto narrow = [&](std::size_t node, const Range& by) {
    Range& range = found.ranges[node];
    range = {std::max(range.low, by.low), std::min(range.high, by.high)};
    return range.low <= range.high;
  };
  for (std::size_t i = 0; i < count; ++i) {
    double slack = leave * (found.nodes[i + 1] - found.nodes[i]);
    found.slack = std::max(found.slack, slack);
    Range begin{}, end{};
    if (!ends_of(found.nodes[i], found.nodes[i + 1], slack, begin, end)) return std::nullopt;
    if (!narrow(i, begin) || !narrow(i + 1, end)) return std::nullopt;
  }
  auto reach = [&](std::size_t from, std::size_t to) {
    double most = kMaxDrift * std::abs(found.nodes[to] - found.nodes[from]);
    return narrow(to, {found.ranges[from].low - most, found.ranges[from].high + most});
  };
  for (std::size_t i = 0; i < count; ++i)
    if (!reach(i, i + 1)) return std::nullopt;
  for (std::size_t i = count; i > 0; --i)
    if (!reach(i, i - 1)) return std::nullopt;
  return found;
}

// By how much the rates of windows must differ, to go by the middle of what their ends can be.
double LineSearch::rates_apart(const Windows& windows) const {
  double least = kFar, most = -kFar;
  auto middle = [&](std::size_t node) { return (windows.ranges[node].low + windows.ranges[node].high) / 2; };
  for (std::size_t i = 0; i + 1 < windows.nodes.size(); ++i) {
    double rate = (middle(i + 1) - middle(i)) / (windows.nodes[i + 1] - windows.nodes[i]);
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  return most - least;
}

OffsetLine LineSearch::line_of(const Windows& windows, bool steady) const {
  OffsetLine line{{}, static_cast<std::int64_t>(std::ceil(windows.error())) + 1, steady};
  for (std::size_t i = 0; i < windows.nodes.size(); ++i) {
    double middle = (windows.ranges[i].low + windows.ranges[i].high) / 2;
    line.nodes.push_back({clocks_.first_ns + std::llround(windows.nodes[i]), base_ + std::llround(middle)});
  }
  return line;
}

// Whether one rate, with what clocks wander, may be that of every window.
bool LineSearch::may_be_one_rate(const Windows& windows) const {
  double least = kFar, most = -kFar;  // that one window allows at most, and another at least
  for (std::size_t i = 0; i + 1 < windows.nodes.size(); ++i) {
    const Range &begin = windows.ranges[i], &end = windows.ranges[i + 1];
    double length = windows.nodes[i + 1] - windows.nodes[i];
    least = std::min(least, (end.high - begin.low) / length);
    most = std::max(most, (end.low - begin.high) / length);
  }
  return most - least <= clocks_.wander;
}

// Any number of windows gives a sound bound: the tightest is taken. A rate that stays within a range leaves
// the straight line between two moments by a quarter of what the range makes of the time in between. If not
// even one rate with what clocks wander explains all, the rates of windows are free, and within one the
// offset may do at once what the rates are seen to differ by.
Offset LineSearch::run() {
  std::vector<std::optional<Windows>> found{search(1, clocks_.wander / 4)};
  bool steady = found.front().has_value();
  constexpr double kShortest = 1e6;  // ns
  auto span = static_cast<double>(clocks_.last_ns - clocks_.first_ns);
  for (std::size_t count = 2; count <= kMostWindows && span >= kShortest * static_cast<double>(count);
       count *= 2) {
    found.push_back(search(count, clocks_.wander / 4));
    steady = steady && found.back() && may_be_one_rate(*found.back());
  }
  const Windows* best = nullptr;
  for (auto& windows : found) {
    if (windows && !steady)
      windows = search(windows->ranges.size() - 1, clocks_.wander + rates_apart(*windows));
    if (windows && (!best || windows->error() < best->error())) best = &*windows;
  }
  if (!best) return {std::nullopt, NoLine::kContradiction};
  if (best->error() > kFar / 4) return {};
  return {line_of(*best, steady), NoLine::kUnbounded};
}

}  // namespace ddpscope::alignment
