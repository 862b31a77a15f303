// Where glyphs that mark moments stand in a row when there is no room for all: they shift sideways, the worst
// leftmost; from four on that touch each other, one stands for all with their number.
#pragma once
#include <cstddef>
#include <vector>

namespace ddpscope::viewer {

struct Glyph {
  float x = 0;       // px, of its moment
  int severity = 0;  // the higher the worse
  std::size_t item = 0;
};

struct PlacedGlyph {
  float x = 0;       // px, where it is drawn
  float true_x = 0;  // px, of its moment (of the worst, where it stands for several)
  std::size_t item = 0;
  std::size_t count = 1;
};

constexpr std::size_t kGlyphsCounted = 4;

// `pitch`: px from one glyph to the next that touches it. Result: ascending by x.
std::vector<PlacedGlyph> placed_glyphs(std::vector<Glyph> glyphs, float pitch);

}  // namespace ddpscope::viewer
