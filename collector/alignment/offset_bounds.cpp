// Keeps of all points the hull, part by part of the time, and hands it to the search.
#include "collector/alignment/offset_bounds.h"

#include <algorithm>

#include "collector/alignment/line_search.h"

namespace ddpscope::alignment {
namespace {

// Whether b, between a and c, lies on or beyond the straight line from a to c, so that a line which keeps to
// the right side of those two keeps to that of b. `side` 1: below the points; -1: above them.
bool is_idle(const OffsetNode& a, const OffsetNode& b, const OffsetNode& c, int side) {
  auto run = static_cast<double>(c.at_ns - a.at_ns), part = static_cast<double>(b.at_ns - a.at_ns);
  auto rise = static_cast<double>(c.offset_ns - a.offset_ns),
       own = static_cast<double>(b.offset_ns - a.offset_ns);
  return side * (own * run - rise * part) >= 0;
}

}  // namespace

std::int64_t OffsetBounds::cell_of(std::int64_t at_ns) const {
  std::int64_t length = std::max<std::int64_t>((last_ns_ - first_ns_) / kCells, 1);
  return std::clamp<std::int64_t>((at_ns - first_ns_) / length, 0, kCells - 1);
}

void OffsetBounds::add(std::vector<OffsetNode>& points, OffsetNode point, int side) {
  points.push_back(point);
  constexpr std::size_t kRoom = 4096;  // grows with what is left, so that thinning out costs little a point
  if (points.size() >= kRoom && points.size() == points.capacity()) thin_out(points, side);
}

void OffsetBounds::thin_out(std::vector<OffsetNode>& points, int side) const {
  std::sort(points.begin(), points.end(), [side](const OffsetNode& a, const OffsetNode& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : side * a.offset_ns < side * b.offset_ns;
  });
  std::size_t kept = 0, begin = 0;  // of the cell
  for (std::size_t i = 0; i < points.size(); ++i) {
    OffsetNode point = points[i];
    if (kept > begin && cell_of(points[kept - 1].at_ns) != cell_of(point.at_ns)) begin = kept;
    if (kept > begin && points[kept - 1].at_ns == point.at_ns) continue;  // the tighter one came first
    while (kept >= begin + 2 && is_idle(points[kept - 2], points[kept - 1], point, side)) --kept;
    points[kept++] = point;
  }
  points.resize(kept);
  points.reserve(std::max<std::size_t>(2 * kept, points.capacity()));
}

Offset OffsetBounds::solve(const ClockPair& clocks) {
  if (upper_.empty() || lower_.empty()) return {};
  thin_out(upper_, 1);
  thin_out(lower_, -1);
  return LineSearch(upper_, lower_, clocks).run();
}

}  // namespace ddpscope::alignment
