// The bars of a track: rectangles and texts where they can be told apart, a row of pixels where not.
#include <algorithm>
#include <cmath>

#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

// Of more bars than these one row of pixels costs less than a rectangle each.
constexpr std::size_t kFewBars = 24;
constexpr float kLeastText = 26;

// Flat colours side by side, as high as the box. Without room on the surface each is a rectangle.
class BarRow {
 public:
  BarRow(LaneFrame& frame, const Box& box, std::size_t bars) : canvas_(frame.canvas), box_(box) {
    Surface* surface = canvas_.surface();
    if (!surface || bars <= kFewBars || surface->room() == 0) return;
    left_ = std::floor(frame.plot.left);
    width_ = static_cast<std::size_t>(std::max(std::ceil(frame.plot.right) - left_, 0.0f));
    Box plot{left_, box.top, left_ + static_cast<float>(width_), box.bottom};
    pixels_ = surface->add_pixels(canvas_.list(), width_, 1, plot).row(0);
  }

  void fill(float left, float right, Colour colour) {
    if (!pixels_) return canvas_.fill({left, box_.top, right, box_.bottom}, colour);
    // Those whose middle a rectangle would cover.
    auto pixel = [&](float x) {
      float at = std::ceil(x - left_ - 0.5f);
      return static_cast<std::size_t>(std::clamp(at, 0.0f, static_cast<float>(width_)));
    };
    for (std::size_t x = pixel(left), end = pixel(right); x < end; ++x) pixels_[x] = over(pixels_[x], colour);
  }

 private:
  // As blending would have it, where what lies below is opaque or nothing at all.
  static Colour over(Colour below, Colour colour) {
    float alpha = static_cast<float>(colour >> 24) / 255;
    return below >> 24 == 0xff && alpha < 1 ? mixed(below, colour | 0xff000000u, alpha) : colour;
  }

  Canvas& canvas_;
  Box box_;
  Colour* pixels_ = nullptr;
  float left_ = 0;
  std::size_t width_ = 0;
};

bool is_collective(Kind kind) { return kind == Kind::kCollective || kind == Kind::kBarrier; }

// A frame in the colour of the worst finding whose evidence the bar is.
void draw_severity_frame(LaneFrame& frame, const Bar& bar, const Box& box) {
  if (bar.severity == 0 || bar.folded) return;
  auto severity = static_cast<Severity>(bar.severity - 1);
  if (severity == Severity::kInfo) return;
  frame.canvas.frame(box, colour_of(frame.colours(), severity), 0, std::max(1.0f, frame.px(1.5f)));
}

void draw_bar(LaneFrame& frame, const Bar& bar, const Box& box, const BarStyle& style, BarRow& row) {
  const Palette& p = frame.colours();
  if (bar.kind == Kind::kTick && !bar.folded) {  // a moment; if it took long, that is seen, too
    row.fill(box.left, box.right, with_alpha(p.text_low, 0.35f));
    row.fill(box.left, std::min(box.left + frame.px(2.5f), std::max(box.right, box.left + 1)), style.fill);
    return;
  }
  // A run of short waits that leave most of it free is no wait.
  if (style.hatched && bar.filled() >= 0.5f && frame.canvas.hatches(box))
    frame.canvas.hatch(box, p.wait_line, p.wait_ground, frame.px(6));
  else
    row.fill(box.left, box.right,
             bar.folded ? with_alpha(style.fill, 0.35f + 0.65f * bar.filled()) : style.fill);
  if (style.edge && box.width() > frame.px(3)) row.fill(box.left, box.left + frame.px(2), style.edge);
  // Where nothing was found, the trace just ends in it.
  if (bar.open && is_collective(bar.kind) && frame.story.finding != merged::kNone)
    row.fill(box.left, box.left + frame.px(2), p.error);
}

void draw_bar_text(LaneFrame& frame, std::uint32_t track, const Bar& bar, const Box& box,
                   const BarStyle& style) {
  // What is cut off by the plot's edge is written where it can be read.
  float left = std::max(box.left, frame.plot.left), right = std::min(box.right, frame.plot.right);
  float pad = frame.px(style.edge ? 6 : 5);
  if (bar.folded || right - left < frame.px(kLeastText) || box.height() < frame.px(12)) return;
  std::string label = frame.labels.of({track, bar.index}, frame.budget);
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

// Look-ups of one name, or looks at a thread, of which each is a moment: the first, and a thin line up to the
// last.
void draw_looks(LaneFrame& frame, const Bar& bar, const Box& box, const BarStyle& style) {
  Box line{box.left, box.bottom - frame.px(3), box.right, box.bottom};
  frame.canvas.fill(line, with_alpha(frame.colours().text_low, 0.35f));
  float right = bar.folded ? box.right : std::min(box.left + frame.px(2.5f), box.right);
  frame.canvas.fill({box.left, box.top, right, box.bottom}, with_alpha(style.fill, bar.folded ? 0.35f : 1));
  draw_severity_frame(frame, bar, line);
}

Box box_of(const LaneFrame& frame, const Bar& bar, const Box& box, const BarStyle& style) {
  float left = std::max(bar.left, frame.plot.left - 4), right = std::min(bar.right, frame.plot.right + 4);
  right = std::max(right, left + std::max(style.least_px * frame.canvas.theme().scale, 1.0f));
  if (right - left > 4) right -= 1;  // a gap to the next
  return {left, box.top, right, box.bottom};
}

// A thread that was seen in no call waits for nothing, and what it did between two looks is not known.
bool is_own_code(const LaneFrame& frame, std::uint32_t track, const Bar& bar) {
  if (bar.kind != Kind::kSeen || bar.folded) return false;
  return frame.reader.names()[frame.reader.event({track, bar.index}).name].text == merged::kOwnCode;
}

}  // namespace

BarStyle style_of(const Palette& p, Kind kind, bool on_device) {
  switch (kind) {
    case Kind::kCompute:
      return {p.backward, p.bar_text};
    case Kind::kOptimizer:
      return {p.optimizer, p.optimizer_text, false, 2};
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
  std::vector<std::vector<Bar>> bars(tracks.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    walk_track(frame.reader, tracks[i], frame.view, frame.budget, bars[i]);
    count += bars[i].size();
  }
  BarRow row(frame, box, count);
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    bool looks = frame.reader.tracks()[tracks[i]].kind == merged::TrackKind::kLooks;
    for (const Bar& bar : bars[i]) {
      BarStyle style = style_of(frame.colours(), bar.kind, on_device);
      Box own = box_of(frame, bar, box, style);
      if (looks || is_own_code(frame, tracks[i], bar)) {
        draw_looks(frame, bar, own, style);
        continue;
      }
      draw_bar(frame, bar, own, style, row);
      if (with_text) draw_bar_text(frame, tracks[i], bar, own, style);
      draw_severity_frame(frame, bar, own);
    }
  }
}

}  // namespace ddpscope::viewer
