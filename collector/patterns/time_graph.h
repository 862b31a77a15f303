// When things happen that wait for each other: the longest path through what comes after what.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpscope::patterns {

// What lies between two points of time: known nanoseconds, so many launches of kernels, and communication.
struct Span {
  double ns = 0;
  double launches = 0;
  double link_ns = 0;
};

// What a span's unknowns are worth.
struct Rates {
  double ns_per_launch = 0;
  double link_scale = 1;
};

// Points of time, each the latest of those before it, with what lies between. The first is time 0, and a
// point after nothing is, too. Points may be put after each other in any order.
class TimeGraph {
 public:
  using Point = std::uint32_t;

  Point add() { return points_++; }
  Point add_after(Point before, Span span = {}) {
    Point point = add();
    put_after(point, before, span);
    return point;
  }
  void put_after(Point point, Point before, Span span = {}) { steps_.push_back({before, point, span}); }

  // To be called when all is put in. false: points wait for each other in a circle.
  bool sort();
  // Time of the latest point, by such rates. After sort().
  double length_ns(const Rates& rates) const;

 private:
  struct Step {
    Point from, to;
    Span span;
  };
  std::uint32_t points_ = 0;
  std::vector<Step> steps_;  // sorted: all that end in a point stand before those that begin in it
};

// The rates with which the graph is as long as was measured: the least time of a launch, and communication
// shorter than it should be only if it is too long by itself. Where all but `tolerance` of the time passes
// without any kernel, how long kernels took is not known: they are taken to be short.
Rates fit_rates(const TimeGraph& graph, double measured_ns, double tolerance);

}  // namespace ddpscope::patterns
