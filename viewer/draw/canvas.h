// Draws with what ImDrawList has, in a theme's colours, faces and scale. Coordinates are pixels of the
// window.
#pragma once
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"
#include "viewer/draw/surface.h"
#include "viewer/theme/theme.h"
#include "viewer/view/curve.h"

struct ImDrawList;

namespace ddpscope::viewer {

struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;

  float width() const { return right - left; }
  float height() const { return bottom - top; }
  float middle_x() const { return (left + right) / 2; }
  float middle_y() const { return (top + bottom) / 2; }
  bool contains(Point p) const { return p.x >= left && p.x < right && p.y >= top && p.y < bottom; }
  Box inset(float by) const { return {left + by, top + by, right - by, bottom - by}; }
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class Canvas {
 public:
  // `surface` may be null.
  Canvas(ImDrawList& list, const Theme& theme, Surface* surface = nullptr)
      : list_(list), theme_(theme), surface_(surface) {}

  const Theme& theme() const { return theme_; }
  const Palette& colours() const { return theme_.colours; }
  float px(float at_scale_one) const { return theme_.px(at_scale_one); }
  ImDrawList& list() { return list_; }
  Surface* surface() const { return surface_; }

  // Everything drawn until pop_clip stays inside.
  void push_clip(const Box& box);
  void pop_clip();

  void fill(const Box& box, Colour colour, float radius = 0);
  void frame(const Box& box, Colour colour, float radius = 0, float thickness = 1);
  void dashed_frame(const Box& box, Colour colour, float thickness = 1);
  void line(Point from, Point to, Colour colour, float thickness = 1);
  void polyline(const std::vector<Point>& points, Colour colour, float thickness);
  void dashed_line(Point from, Point to, Colour colour, float thickness, float dash, float gap);
  void triangle(Point a, Point b, Point c, Colour colour);
  // 45 degree lines that stand still on the screen as the box moves; a flat mix where it is too narrow for
  // them.
  bool hatches(const Box& box) const { return box.width() >= px(12); }
  void hatch(const Box& box, Colour line, Colour ground, float pitch);

  float text_width(Face face, std::string_view text) const;
  float line_height(Face face) const { return theme_.fonts.size(face); }
  void text(Face face, Point top_left, Colour colour, std::string_view text);
  void text_right(Face face, Point top_right, Colour colour, std::string_view text);
  // In the vertical middle of `box`, from its left edge; cut with "…" where it does not fit. Nothing where
  // not even a few letters do. Returns the width drawn.
  float text_in(Face face, const Box& box, Colour colour, std::string_view text);
  float text_in_right(Face face, const Box& box, Colour colour, std::string_view text);
  float text_centred(Face face, const Box& box, Colour colour, std::string_view text);

 private:
  ImDrawList& list_;
  const Theme& theme_;
  Surface* surface_;
};

// With control characters (a line break in a path) and what is no UTF-8 spelled out, in `room` if there are
// any: else it is `text` itself, of which no frame makes a copy. All that is drawn goes through it.
std::string_view drawn_as(std::string_view text, std::string& room);
std::string printable(std::string_view text);
// `text` or its beginning and "…", no wider than `width`.
std::string cut_to(const Canvas& canvas, Face face, std::string_view text, float width);
// Likewise "…" and its end.
std::string cut_in_front(const Canvas& canvas, Face face, std::string_view text, float width);
// Its lines, broken between words, no more than `most`: the last is cut. A word wider than a line is broken
// in it.
std::vector<std::string> wrapped(const Canvas& canvas, Face face, std::string_view text, float width,
                                 std::size_t most);

}  // namespace ddpscope::viewer
