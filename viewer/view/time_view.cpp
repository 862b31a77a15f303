// How zooming and panning change the visible stretch of time.
#include "viewer/view/time_view.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

// With room beside the run's ends, so that what happens there does not stick to the frame.
TimeSpan widest(TimeSpan run) {
  std::int64_t margin = std::max<std::int64_t>(run.length() / 20, kShortestShownNs);
  return {run.from_ns - margin, run.to_ns + margin};
}

TimeSpan around(double middle_ns, double length_ns) {
  auto length = static_cast<std::int64_t>(std::llround(length_ns));
  auto from = static_cast<std::int64_t>(std::llround(middle_ns - length_ns / 2));
  return {from, from + length};
}

}  // namespace

PixelOf::PixelOf(const TimeView& view)
    : from_ns_(view.shown.from_ns), left_(view.left), px_per_ns_(1 / view.ns_per_px()) {}

float TimeView::x_of(std::int64_t t_ns) const { return PixelOf(*this)(t_ns); }

std::int64_t TimeView::t_of(float x) const {
  return shown.from_ns + static_cast<std::int64_t>(std::llround((x - left) * ns_per_px()));
}

TimeSpan limited(TimeSpan shown, TimeSpan run) {
  TimeSpan most = widest(run);
  std::int64_t length = std::clamp(shown.length(), std::min(kShortestShownNs, most.length()), most.length());
  // The end moves, not the start: whoever zooms asks for the place of one time.
  std::int64_t from = std::clamp(shown.from_ns, most.from_ns, most.to_ns - length);
  return {from, from + length};
}

TimeSpan zoomed(const TimeView& view, double factor, float x, TimeSpan run) {
  TimeSpan most = widest(run);
  double length = std::clamp(view.shown.length() * factor, static_cast<double>(kShortestShownNs),
                             static_cast<double>(most.length()));
  double share = (x - view.left) / view.width;
  double anchor = view.shown.from_ns + share * view.shown.length();
  auto from = static_cast<std::int64_t>(std::llround(anchor - share * length));
  return limited({from, from + static_cast<std::int64_t>(std::llround(length))}, run);
}

TimeSpan panned(const TimeView& view, float px, TimeSpan run) {
  auto by = static_cast<std::int64_t>(std::llround(px * view.ns_per_px()));
  return limited({view.shown.from_ns + by, view.shown.to_ns + by}, run);
}

TimeSpan fitted(TimeSpan span, double share, std::int64_t least_ns, TimeSpan run) {
  double length = static_cast<double>(std::max(span.length(), least_ns)) / share;
  return limited(around(span.from_ns + span.length() / 2.0, length), run);
}

TimeSpan between(TimeSpan from, TimeSpan to, double done) {
  if (done >= 1) return to;
  if (done <= 0) return from;
  double a = std::max<double>(from.length(), 1), b = std::max<double>(to.length(), 1);
  double length = a * std::pow(b / a, done);  // each frame zooms by the same factor
  // The middle moves as the length does: nothing that stays in view runs out of it and back.
  double moved = a == b ? done : (length - a) / (b - a);
  double one = from.from_ns + a / 2, other = to.from_ns + b / 2;
  return around(one + (other - one) * moved, length);
}

}  // namespace ddpscope::viewer
