// The marks of findings: a severity's shape, filled by confidence; numbered discs; arrows; labels beside
// them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "viewer/draw/canvas.h"

namespace ddpscope::viewer {

using findings::Confidence;
using findings::Severity;

Colour colour_of(const Palette& palette, Severity severity);
Colour ground_of(const Palette& palette, Severity severity);

// Diamond, triangle or disc of `size` px across; solid where certain, with a core where likely, else
// outlined.
void draw_severity(Canvas& canvas, Point middle, float size, Severity severity, Confidence confidence);

// A white disc with a number: the piece of evidence of that number.
void draw_disc(Canvas& canvas, Point middle, std::size_t number, bool focused);
float disc_radius(const Canvas& canvas);

enum class ArrowKind {
  kPaired,     // solid red: paired wrongly
  kUnordered,  // dashed red: unordered, and wrong here
  kByLuck,     // dotted amber: unordered, right by luck
  kInTime,     // thin blue: a link in time only
};
void draw_arrow(Canvas& canvas, const Curve& curve, ArrowKind kind);

// A boxed text on its own ground. `lines` beyond the first are quieter. Returns where it stands; it is moved
// to be inside `within`.
struct Label {
  Point middle;
  Colour colour = 0;  // frame and first line
  bool loud = false;  // thicker frame, larger type
  std::vector<std::string> lines{};
};
Box label_box(const Canvas& canvas, const Label& label, const Box& within);
// For the note of a disc, in whose middle the label is: below and to the right of it, or to the left where
// there is no room, and on no disc; where that is nowhere further below, or above. Nothing where it is wider
// than `within`.
std::optional<Box> note_box(const Canvas& canvas, Label label, const Box& within,
                            const std::vector<Point>& discs);
void draw_label(Canvas& canvas, const Label& label, const Box& box);

// A small box with a short text, of a row of them. Returns its right edge.
float draw_chip(Canvas& canvas, Point top_left, float height, Colour text, Colour ground,
                std::string_view words);

// The name of a key. Returns its right edge.
float draw_key(Canvas& canvas, Point top_left, float height, std::string_view key);

}  // namespace ddpscope::viewer
