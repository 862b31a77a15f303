// The marks of findings.
#include "viewer/draw/marks.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

std::vector<ImVec2> outline_of(Point m, float half, Severity severity) {
  if (severity == Severity::kError)
    return {{m.x, m.y - half}, {m.x + half, m.y}, {m.x, m.y + half}, {m.x - half, m.y}};
  float foot = half * 0.82f;
  return {{m.x, m.y - half * 0.95f}, {m.x + half, m.y + foot}, {m.x - half, m.y + foot}};
}

void fill_shape(Canvas& canvas, Point middle, float half, Severity severity, Colour colour) {
  if (severity == Severity::kInfo)
    return canvas.list().AddCircleFilled({middle.x, middle.y}, half * 0.8f, colour);
  auto points = outline_of(middle, half, severity);
  canvas.list().AddConvexPolyFilled(points.data(), static_cast<int>(points.size()), colour);
}

void outline_shape(Canvas& canvas, Point middle, float half, Severity severity, Colour colour) {
  float thick = std::max(1.0f, canvas.px(1.5f));
  if (severity == Severity::kInfo)
    return canvas.list().AddCircle({middle.x, middle.y}, half * 0.75f, colour, 0, thick);
  auto points = outline_of(middle, half, severity);
  canvas.list().AddPolyline(points.data(), static_cast<int>(points.size()), colour, ImDrawFlags_Closed,
                            thick);
}

struct Stroke {
  Colour colour;
  float thickness, dash, gap;
};
Stroke stroke_of(const Canvas& canvas, ArrowKind kind) {
  const Palette& p = canvas.colours();
  switch (kind) {
    case ArrowKind::kPaired:
      return {p.error, canvas.px(2), 0, 0};
    case ArrowKind::kUnordered:
      return {p.error, canvas.px(2), canvas.px(8), canvas.px(5)};
    case ArrowKind::kByLuck:
      return {p.warning, canvas.px(2), canvas.px(2), canvas.px(3)};
    case ArrowKind::kInTime:
      break;
  }
  return {p.link, canvas.px(1.3f), 0, 0};
}

constexpr float kLabelPad = 8, kLabelGap = 2;

}  // namespace

Colour colour_of(const Palette& palette, Severity severity) {
  return severity == Severity::kError     ? palette.error
         : severity == Severity::kWarning ? palette.warning
                                          : palette.info;
}
Colour ground_of(const Palette& palette, Severity severity) {
  return severity == Severity::kError     ? palette.error_ground
         : severity == Severity::kWarning ? palette.warning_ground
                                          : palette.info_ground;
}

void draw_severity(Canvas& canvas, Point middle, float size, Severity severity, Confidence confidence) {
  Colour colour = colour_of(canvas.colours(), severity);
  float half = size / 2;
  if (confidence == Confidence::kCertain) return fill_shape(canvas, middle, half, severity, colour);
  outline_shape(canvas, middle, half - canvas.px(0.5f), severity, colour);
  if (confidence == Confidence::kLikely) fill_shape(canvas, middle, half * 0.42f, severity, colour);
}

float disc_radius(const Canvas& canvas) { return canvas.px(8); }

void draw_disc(Canvas& canvas, Point middle, std::size_t number, bool focused) {
  float radius = disc_radius(canvas);
  ImVec2 at{middle.x, middle.y};
  const Palette& p = canvas.colours();
  if (focused) canvas.list().AddCircleFilled(at, radius + canvas.px(4), with_alpha(p.focus, 0.35f));
  canvas.list().AddCircleFilled(at, radius + canvas.px(1.5f), p.window);
  canvas.list().AddCircleFilled(at, radius, p.focus);
  Box box{middle.x - radius, middle.y - radius, middle.x + radius, middle.y + radius};
  std::string text = fmt::format("{}", number);
  float width = canvas.text_width(Face::kSmall, text), height = canvas.line_height(Face::kSmall);
  canvas.text(Face::kSmall, {std::round(box.middle_x() - width / 2), std::round(box.middle_y() - height / 2)},
              p.focus_text, text);
  // Semibold in 11 px is no face of the atlas: printed twice, half a pixel apart, it is.
  canvas.list().AddText(
      canvas.theme().fonts[Face::kSmall], height,
      {std::round(box.middle_x() - width / 2) + 0.5f, std::round(box.middle_y() - height / 2)}, p.focus_text,
      text.data(), text.data() + text.size());
}

void draw_arrow(Canvas& canvas, const Curve& curve, ArrowKind kind) {
  Stroke stroke = stroke_of(canvas, kind);
  std::vector<Point> points = sampled(curve, 48);
  float head = canvas.px(9);
  auto tip = arrow_head(points, head);
  Point base{(tip[1].x + tip[2].x) / 2, (tip[1].y + tip[2].y) / 2};
  std::vector<Point> shaft;
  for (Point p : points)
    if (std::hypot(p.x - tip[0].x, p.y - tip[0].y) > head) shaft.push_back(p);
  shaft.push_back(base);
  if (stroke.dash > 0) {
    for (const Dash& part : dashes(shaft, stroke.dash, stroke.gap))
      canvas.list().AddLine({part.from.x, part.from.y}, {part.to.x, part.to.y}, stroke.colour,
                            stroke.thickness);
  } else {
    canvas.polyline(shaft, stroke.colour, stroke.thickness);
  }
  canvas.triangle(tip[0], tip[1], tip[2], stroke.colour);
}

Box label_box(const Canvas& canvas, const Label& label, const Box& within) {
  float width = 0, height = 0;
  for (std::size_t i = 0; i < label.lines.size(); ++i) {
    Face face = i == 0 && label.loud ? Face::kStrong : Face::kSmall;
    width = std::max(width, canvas.text_width(face, label.lines[i]));
    height += canvas.line_height(face) + (i > 0 ? canvas.px(kLabelGap) : 0);
  }
  float pad = canvas.px(label.loud ? kLabelPad : kLabelPad - 3);
  width = std::ceil(width + 2 * pad);
  height = std::ceil(height + 2 * canvas.px(label.loud ? kLabelPad - 2 : kLabelPad - 6));
  float left =
      std::clamp(label.middle.x - width / 2, within.left, std::max(within.left, within.right - width));
  float top =
      std::clamp(label.middle.y - height / 2, within.top, std::max(within.top, within.bottom - height));
  left = std::floor(left), top = std::floor(top);
  return {left, top, left + width, top + height};
}

std::optional<Box> note_box(const Canvas& canvas, Label label, const Box& within,
                            const std::vector<Point>& discs) {
  float radius = disc_radius(canvas) + canvas.px(2), disc_y = label.middle.y;
  std::optional<Box> best;
  std::ptrdiff_t least = 0;  // discs that it covers
  for (float down : {44.0f, 80.0f, -44.0f, 116.0f, -80.0f}) {
    label.middle.y = disc_y + canvas.px(down);
    Box middle = label_box(canvas, label, within);
    if (middle.width() > within.width()) return std::nullopt;
    for (int i = 0; i <= 12; ++i) {
      Box box = middle;
      float by = i < 12 ? canvas.px(90 + 30.0f * static_cast<float>(i)) : 0;
      if (box.right + by > within.right) by = -by;
      box.left += by, box.right += by;
      if (box.left < within.left) continue;
      Box around = box.inset(-radius);
      auto covered = std::count_if(discs.begin(), discs.end(), [&](Point p) { return around.contains(p); });
      if (!best || covered < least) best = box, least = covered;
      if (covered == 0) return box;
    }
  }
  return best;
}

void draw_label(Canvas& canvas, const Label& label, const Box& box) {
  const Palette& p = canvas.colours();
  float radius = canvas.px(4);
  canvas.fill(box, with_alpha(p.window, 0.94f), radius);
  canvas.frame(box, label.colour, radius, std::max(1.0f, canvas.px(label.loud ? 1.5f : 1)));
  float pad = canvas.px(label.loud ? kLabelPad : kLabelPad - 3);
  float y = box.top + canvas.px(label.loud ? kLabelPad - 2 : kLabelPad - 6);
  for (std::size_t i = 0; i < label.lines.size(); ++i) {
    Face face = i == 0 && label.loud ? Face::kStrong : Face::kSmall;
    canvas.text(face, {box.left + pad, y}, i == 0 ? label.colour : p.text, label.lines[i]);
    y += canvas.line_height(face) + canvas.px(kLabelGap);
  }
}

float draw_chip(Canvas& canvas, Point top_left, float height, Colour text, Colour ground,
                std::string_view words) {
  float pad = canvas.px(7), width = canvas.text_width(Face::kSmall, words) + 2 * pad;
  Box box{top_left.x, top_left.y, top_left.x + width, top_left.y + height};
  canvas.fill(box, ground, canvas.px(3));
  canvas.text_in(Face::kSmall, {box.left + pad, box.top, box.right, box.bottom}, text, words);
  return box.right;
}

float draw_key(Canvas& canvas, Point top_left, float height, std::string_view key) {
  float pad = canvas.px(5), width = std::max(canvas.text_width(Face::kMonoSmall, key) + 2 * pad, height);
  Box box{top_left.x, top_left.y, top_left.x + width, top_left.y + height};
  canvas.fill(box, canvas.colours().raised, canvas.px(3));
  canvas.frame(box, canvas.colours().strong_line, canvas.px(3));
  canvas.text_centred(Face::kMonoSmall, box, canvas.colours().text_mid, key);
  return box.right;
}

}  // namespace ddpscope::viewer
