// Kahn's order, then one pass a length.
#include "collector/patterns/time_graph.h"

#include <algorithm>

namespace ddpscope::patterns {
namespace {

// The least of 0..high for which `is_enough`, which is true from some value on.
template <class Predicate>
double least(double high, Predicate&& is_enough) {
  constexpr int kHalvings = 40;
  double low = 0;
  if (is_enough(low)) return low;
  for (int i = 0; i < kHalvings; ++i) {
    double middle = (low + high) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

bool TimeGraph::sort() {
  std::vector<std::uint32_t> first(points_ + 1), missing(points_);  // into by_origin; steps not yet taken
  for (const Step& step : steps_) ++first[step.from + 1], ++missing[step.to];
  for (std::uint32_t i = 0; i < points_; ++i) first[i + 1] += first[i];
  std::vector<Step> by_origin(steps_.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const Step& step : steps_) by_origin[next[step.from]++] = step;

  std::vector<Point> ready;
  for (Point point = points_; point-- > 0;)
    if (missing[point] == 0) ready.push_back(point);
  std::vector<Step> sorted;
  sorted.reserve(steps_.size());
  while (!ready.empty()) {
    Point point = ready.back();
    ready.pop_back();
    for (std::uint32_t i = first[point]; i < first[point + 1]; ++i) {
      sorted.push_back(by_origin[i]);
      if (--missing[by_origin[i].to] == 0) ready.push_back(by_origin[i].to);
    }
  }
  bool complete = sorted.size() == steps_.size();
  steps_ = std::move(sorted);
  return complete;
}

double TimeGraph::length_ns(const Rates& rates) const {
  std::vector<double> at(points_);
  double latest = 0;
  for (const Step& step : steps_) {
    double between =
        step.span.ns + step.span.launches * rates.ns_per_launch + step.span.link_ns * rates.link_scale;
    at[step.to] = std::max(at[step.to], at[step.from] + between);
    latest = std::max(latest, at[step.to]);
  }
  return latest;
}

Rates fit_rates(const TimeGraph& graph, double measured_ns, double tolerance) {
  auto long_enough = [&](const Rates& rates) { return graph.length_ns(rates) >= measured_ns; };
  if (long_enough({0, 1})) return {0, least(1, [&](double middle) { return long_enough({0, middle}); })};
  if (graph.length_ns({0, 1}) >= (1 - tolerance) * measured_ns) return {0, 1};
  return {least(measured_ns, [&](double middle) { return long_enough({middle, 1}); }), 1};
}

}  // namespace ddpscope::patterns
