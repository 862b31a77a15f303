// Draws with what ImDrawList has.
#include "viewer/draw/canvas.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

ImVec2 vec(Point p) { return {p.x, p.y}; }
constexpr float kWorthClearing = 8000;  // px: a call of its own costs about as much as these
// Lines of odd thickness lie on the middle of a pixel, or they are two grey ones.
float crisp(float x) { return std::floor(x) + 0.5f; }

}  // namespace

void Canvas::push_clip(const Box& box) {
  list_.PushClipRect({box.left, box.top}, {std::max(box.left, box.right), std::max(box.top, box.bottom)},
                     true);
}
void Canvas::pop_clip() { list_.PopClipRect(); }

void Canvas::fill(const Box& box, Colour colour, float radius) {
  // Between the round ends.
  Box middle = radius == 0
                   ? box
                   : Box{std::ceil(box.left + radius), box.top, std::floor(box.right - radius), box.bottom};
  bool opaque = colour >> 24 == 0xff;
  if (!surface_ || !opaque || middle.width() * middle.height() < kWorthClearing)
    return list_.AddRectFilled({box.left, box.top}, {box.right, box.bottom}, colour, radius);
  surface_->clear(list_, middle, colour);
  if (radius == 0) return;
  list_.AddRectFilled({box.left, box.top}, {middle.left, box.bottom}, colour, radius,
                      ImDrawFlags_RoundCornersLeft);
  list_.AddRectFilled({middle.right, box.top}, {box.right, box.bottom}, colour, radius,
                      ImDrawFlags_RoundCornersRight);
}

void Canvas::frame(const Box& box, Colour colour, float radius, float thickness) {
  if (radius == 0 && thickness == 1) {
    Box b{std::floor(box.left), std::floor(box.top), std::floor(box.right), std::floor(box.bottom)};
    for (const Box& side :
         {Box{b.left, b.top, b.right, b.top + 1}, Box{b.left, b.bottom - 1, b.right, b.bottom},
          Box{b.left, b.top + 1, b.left + 1, b.bottom - 1},
          Box{b.right - 1, b.top + 1, b.right, b.bottom - 1}})
      fill(side, colour);
    return;
  }
  float half = thickness / 2;
  list_.AddRect({std::floor(box.left) + half, std::floor(box.top) + half},
                {std::floor(box.right) - half, std::floor(box.bottom) - half}, colour, radius, 0, thickness);
}

void Canvas::dashed_frame(const Box& box, Colour colour, float thickness) {
  float half = thickness / 2;
  Point a{std::floor(box.left) + half, std::floor(box.top) + half};
  Point c{std::floor(box.right) - half, std::floor(box.bottom) - half};
  float dash = px(5), gap = px(3);
  // Of a very long frame only what is in view would be seen, but all would be drawn.
  ImVec2 low = list_.GetClipRectMin(), high = list_.GetClipRectMax();
  float phase_left = a.x, right = std::min(c.x, high.x + 2 * dash);
  if (a.x < low.x) phase_left = a.x + std::floor((low.x - a.x) / (dash + gap)) * (dash + gap);
  dashed_line({phase_left, a.y}, {right, a.y}, colour, thickness, dash, gap);
  dashed_line({phase_left, c.y}, {right, c.y}, colour, thickness, dash, gap);
  dashed_line(a, {a.x, c.y}, colour, thickness, dash, gap);
  dashed_line({c.x, a.y}, c, colour, thickness, dash, gap);
}

void Canvas::line(Point from, Point to, Colour colour, float thickness) {
  // A row or column of pixels: a rectangle has no soft edges to blend.
  if (thickness == 1 && from.x == to.x)
    return fill({std::floor(from.x), std::min(from.y, to.y), std::floor(from.x) + 1, std::max(from.y, to.y)},
                colour);
  if (thickness == 1 && from.y == to.y)
    return fill({std::min(from.x, to.x), std::floor(from.y), std::max(from.x, to.x), std::floor(from.y) + 1},
                colour);
  if (from.x == to.x) from.x = to.x = crisp(from.x);
  if (from.y == to.y) from.y = to.y = crisp(from.y);
  list_.AddLine(vec(from), vec(to), colour, thickness);
}

void Canvas::polyline(const std::vector<Point>& points, Colour colour, float thickness) {
  static_assert(sizeof(Point) == sizeof(ImVec2));
  std::vector<ImVec2> converted;
  converted.reserve(points.size());
  for (Point p : points) converted.push_back(vec(p));
  list_.AddPolyline(converted.data(), static_cast<int>(converted.size()), colour, 0, thickness);
}

void Canvas::dashed_line(Point from, Point to, Colour colour, float thickness, float dash, float gap) {
  for (const Dash& part : dashes({from, to}, dash, gap))
    list_.AddLine(vec(part.from), vec(part.to), colour, thickness);
}

void Canvas::triangle(Point a, Point b, Point c, Colour colour) {
  list_.AddTriangleFilled(vec(a), vec(b), vec(c), colour);
}

void Canvas::hatch(const Box& box, Colour line, Colour ground, float pitch) {
  if (!hatches(box)) return fill(box, mixed(ground, line, 0.35f));
  fill(box, ground);
  ImVec2 low = list_.GetClipRectMin(), high = list_.GetClipRectMax();
  Box seen{std::max(box.left, low.x), std::max(box.top, low.y), std::min(box.right, high.x),
           std::min(box.bottom, high.y)};
  if (seen.width() <= 0 || seen.height() <= 0) return;
  push_clip(seen);
  // Lines x + y = k * pitch of the screen.
  for (float k = std::floor((seen.left + seen.top) / pitch) * pitch; k < seen.right + seen.bottom; k += pitch)
    list_.AddLine({k - seen.top, seen.top}, {k - seen.bottom, seen.bottom}, line, px(1));
  pop_clip();
}

float Canvas::text_width(Face face, std::string_view text) const {
  const ImFont* font = theme_.fonts[face];
  return font->CalcTextSizeA(font->FontSize, 1e9f, 0, text.data(), text.data() + text.size()).x;
}

void Canvas::text(Face face, Point top_left, Colour colour, std::string_view original) {
  std::string room;
  std::string_view text = drawn_as(original, room);
  const ImFont* font = theme_.fonts[face];
  list_.AddText(font, font->FontSize, {std::floor(top_left.x), std::floor(top_left.y)}, colour, text.data(),
                text.data() + text.size());
}

void Canvas::text_right(Face face, Point top_right, Colour colour, std::string_view text) {
  this->text(face, {top_right.x - text_width(face, text), top_right.y}, colour, text);
}

float Canvas::text_in(Face face, const Box& box, Colour colour, std::string_view text) {
  std::string shown = cut_to(*this, face, text, box.width());
  if (shown.empty()) return 0;
  this->text(face, {box.left, std::round(box.middle_y() - line_height(face) / 2)}, colour, shown);
  return text_width(face, shown);
}

float Canvas::text_in_right(Face face, const Box& box, Colour colour, std::string_view text) {
  std::string shown = cut_to(*this, face, text, box.width());
  if (shown.empty()) return 0;
  text_right(face, {box.right, std::round(box.middle_y() - line_height(face) / 2)}, colour, shown);
  return text_width(face, shown);
}

float Canvas::text_centred(Face face, const Box& box, Colour colour, std::string_view text) {
  std::string shown = cut_to(*this, face, text, box.width());
  if (shown.empty()) return 0;
  float width = text_width(face, shown);
  this->text(face, {box.middle_x() - width / 2, std::round(box.middle_y() - line_height(face) / 2)}, colour,
             shown);
  return width;
}

}  // namespace ddpscope::viewer
