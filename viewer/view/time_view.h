// The visible stretch of the time line: nanoseconds since the job's start against pixels, and how zooming and
// panning change it. Pure arithmetic.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddpscope::viewer {

struct TimeSpan {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;

  std::int64_t length() const { return to_ns - from_ns; }
  bool contains(std::int64_t t_ns) const { return from_ns <= t_ns && t_ns <= to_ns; }
  bool meets(TimeSpan other) const { return from_ns <= other.to_ns && other.from_ns <= to_ns; }
  bool operator==(const TimeSpan&) const = default;
};

// No less than this is shown: below it neighbouring ticks would have the same label.
constexpr std::int64_t kShortestShownNs = 200;

struct TimeView {
  TimeSpan shown;
  float left = 0;   // px, of shown.from_ns
  float width = 1;  // px

  double ns_per_px() const { return static_cast<double>(shown.length()) / width; }
  // Far outside the plot the pixel is clamped: what draws a bar that leaves it gets by with floats.
  float x_of(std::int64_t t_ns) const;
  std::int64_t t_of(float x) const;
  float right() const { return left + width; }
};

// x_of for many times of one view: divides once.
class PixelOf {
 public:
  explicit PixelOf(const TimeView& view);
  float operator()(std::int64_t t_ns) const {
    double px = static_cast<double>(t_ns - from_ns_) * px_per_ns_;
    return left_ + static_cast<float>(px < -kFarPx ? -kFarPx : px > kFarPx ? kFarPx : px);
  }
  double px_per_ns() const { return px_per_ns_; }

 private:
  static constexpr double kFarPx = 100'000;
  std::int64_t from_ns_;
  float left_;
  double px_per_ns_;
};

// `factor` below 1 zooms in; the time at pixel x stays there unless the run's ends prevent it. `run`: what
// can be shown at most, with a margin of a twentieth on both sides.
TimeSpan zoomed(const TimeView& view, double factor, float x, TimeSpan run);
TimeSpan panned(const TimeView& view, float px, TimeSpan run);
// The stretch that shows `span` over `share` of the width, in the middle. A span of no length gets
// `least_ns`.
TimeSpan fitted(TimeSpan span, double share, std::int64_t least_ns, TimeSpan run);
TimeSpan limited(TimeSpan shown, TimeSpan run);
// On the way from one stretch to another, `done` in 0..1: zooms and pans at an even pace.
TimeSpan between(TimeSpan from, TimeSpan to, double done);

struct Tick {
  std::int64_t t_ns;
  bool major;         // has a label
  std::string label;  // empty for minor ticks
};
// Labels are at least `label_px` apart. Ticks stand at round times.
std::vector<Tick> ruler_ticks(const TimeView& view, float label_px);

// "12.45 s", "0:30:00": with as many digits as tell times `resolution_ns` apart.
std::string time_text(std::int64_t t_ns, std::int64_t resolution_ns);
// "46 ms", "17.4 ms", "1.40 s", "2 min 52 s", "2 h 14 min": three digits.
std::string duration_text(std::int64_t ns);
// "rank" for one, else "ranks"
std::string plural(std::uint64_t count, std::string_view word);
// "2.91 M", "418 k", "762"
std::string count_text(std::uint64_t count);
// "48.2 MB" of 10^6
std::string bytes_text(std::uint64_t bytes);

}  // namespace ddpscope::viewer
