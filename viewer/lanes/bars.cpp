// The bars of a track: rectangles and texts where they can be told apart, a row of pixels where not.
#include <algorithm>
#include <cmath>

#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

// Up to as many bars all rows together draw as rectangles; of more, the fuller rows become pixels.
constexpr std::size_t kMostRectangles = 6000;
constexpr float kLeastText = 26;

bool is_collective(Kind kind) { return kind == Kind::kCollective || kind == Kind::kBarrier; }

// A frame in the colour of the worst finding whose evidence the bar is.
void draw_severity_frame(LaneFrame& frame, const Bar& bar, const Box& box) {
  if (bar.severity == 0 || bar.folded) return;
  auto severity = static_cast<Severity>(bar.severity - 1);
  if (severity == Severity::kInfo) return;
  frame.canvas.frame(box, colour_of(frame.colours(), severity), 0, std::max(1.0f, frame.px(1.5f)));
}

void draw_bar(LaneFrame& frame, const Bar& bar, const Box& box, const BarStyle& style) {
  Canvas& canvas = frame.canvas;
  if (bar.kind == Kind::kTick && !bar.folded) {  // a moment; if it took long, that is seen, too
    canvas.fill(box, with_alpha(frame.colours().text_low, 0.35f));
    canvas.fill({box.left, box.top, std::min(box.left + frame.px(2.5f), std::max(box.right, box.left + 1)),
                 box.bottom},
                style.fill);
    return;
  }
  if (style.hatched)
    canvas.hatch(box, frame.colours().wait_line, frame.colours().wait_ground, frame.px(6));
  else
    canvas.fill(box, bar.folded ? with_alpha(style.fill, 0.35f + 0.65f * bar.filled) : style.fill);
  if (style.edge && box.width() > frame.px(3))
    canvas.fill({box.left, box.top, box.left + frame.px(2), box.bottom}, style.edge);
}

void draw_bar_text(LaneFrame& frame, std::uint32_t track, const Bar& bar, const Box& box,
                   const BarStyle& style) {
  // What is cut off by the plot's edge is written where it can be read.
  float left = std::max(box.left, frame.plot.left), right = std::min(box.right, frame.plot.right);
  float pad = frame.px(style.edge ? 6 : 5);
  if (bar.folded || right - left < frame.px(kLeastText) || box.height() < frame.px(12)) return;
  const std::string& label = frame.labels.of({track, bar.index}, bar.event, frame.budget);
  Box room{left + pad, box.top, right - pad / 2, box.bottom};
  std::string shown = cut_to(frame.canvas, Face::kSmall, label, room.width());
  if (shown.empty()) return;
  if (style.hatched) {  // on lines a text needs ground of its own
    float width = frame.canvas.text_width(Face::kSmall, shown);
    frame.canvas.fill({room.left - frame.px(3), box.top + 1, room.left + width + frame.px(3), box.bottom - 1},
                      frame.colours().wait_ground);
  }
  frame.canvas.text_in(Face::kSmall, room, style.text, shown);
}

Box box_of(const LaneFrame& frame, const Bar& bar, const Box& box, const BarStyle& style) {
  float left = std::max(bar.left, frame.plot.left - 4), right = std::min(bar.right, frame.plot.right + 4);
  right = std::max(right, left + std::max(style.least_px * frame.canvas.theme().scale, 1.0f));
  if (right - left > 4) right -= 1;  // a gap to the next
  return {left, box.top, right, box.bottom};
}

// Into pixels, each mixed by how much of it is covered.
void draw_pixels(LaneFrame& frame, const std::vector<Bar>& bars, const Box& box, bool on_device) {
  auto width = static_cast<std::size_t>(frame.plot.width());
  Colour* pixels = frame.canvas.surface()->add_row(
      frame.canvas.list(), width, {frame.plot.left, box.top, frame.plot.left + width, box.bottom});
  for (const Bar& bar : bars) {
    BarStyle style = style_of(frame.colours(), bar.kind, on_device);
    Colour colour =
        style.hatched ? mixed(frame.colours().wait_ground, frame.colours().wait_line, 0.35f) : style.fill;
    float left = std::max(bar.left - frame.plot.left, 0.0f);
    float right = std::min(std::max(bar.right, bar.left + 1) - frame.plot.left, static_cast<float>(width));
    for (auto x = static_cast<std::size_t>(left); x < width && static_cast<float>(x) < right; ++x)
      pixels[x] = with_alpha(colour, 0.35f + 0.65f * bar.filled);
  }
}

}  // namespace

BarStyle style_of(const Palette& p, Kind kind, bool on_device) {
  switch (kind) {
    case Kind::kCompute:
      return {p.backward, p.bar_text};
    case Kind::kOptimizer:
      return {p.optimizer, mixed(p.optimizer, p.window, 0.85f), false, 2};
    case Kind::kCollective:
      if (!on_device) return {p.collective, p.bar_text, false, 2};
      return {mixed(p.lane_even, p.collective, 0.42f), p.bar_text, false, 2, p.collective};
    case Kind::kBarrier:
      if (!on_device) return {p.barrier, p.bar_text_dark, false, 2};
      return {mixed(p.lane_even, p.barrier, 0.42f), p.bar_text, false, 2, p.barrier};
    case Kind::kFileRead:
      return {p.file_read, p.bar_text_dark};
    case Kind::kFileWrite:
      return {p.file_write, p.bar_text_dark, false, 2};
    case Kind::kTick:
      return {p.focus, p.text};
    case Kind::kCopy:
      return {p.copy, p.bar_text_dark};
    case Kind::kWait:
    case Kind::kSeen:
      return {mixed(p.wait_ground, p.wait_line, 0.35f), p.text_mid, true};
    case Kind::kStep:
      return {p.raised, p.text_mid};
    case Kind::kMessage:
      return {mixed(p.lane_even, p.text_low, 0.45f), p.bar_text};
    case Kind::kProcess:
      return {mixed(p.lane_even, p.text_low, 0.7f), p.bar_text};
    case Kind::kEnqueue:
    case Kind::kRange:
    case Kind::kOther:
      break;
  }
  return {p.forward, p.bar_text};
}

void draw_bars(LaneFrame& frame, const std::vector<std::uint32_t>& tracks, const Box& box, bool on_device,
               bool with_text) {
  for (std::uint32_t track : tracks) {
    std::vector<Bar> bars;
    walk_track(frame.reader, track, frame.view, frame.budget, bars);
    bool many = bars.size() * frame.rows_in_view > kMostRectangles;
    if (many && frame.canvas.surface()) {
      draw_pixels(frame, bars, box, on_device);
      continue;
    }
    for (const Bar& bar : bars) {
      BarStyle style = style_of(frame.colours(), bar.kind, on_device);
      Box own = box_of(frame, bar, box, style);
      draw_bar(frame, bar, own, style);
      if (with_text) draw_bar_text(frame, track, bar, own, style);
      draw_severity_frame(frame, bar, own);
      if (bar.open && is_collective(bar.kind))
        frame.canvas.fill({own.left, own.top, own.left + frame.px(2), own.bottom}, frame.colours().error);
    }
  }
}

}  // namespace ddpscope::viewer
