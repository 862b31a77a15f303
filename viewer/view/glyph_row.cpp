// Where glyphs that mark moments stand in a row.
#include "viewer/view/glyph_row.h"

#include <algorithm>

namespace ddpscope::viewer {
namespace {

void place_cluster(std::vector<Glyph>::iterator first, std::vector<Glyph>::iterator last, float pitch,
                   std::vector<PlacedGlyph>& placed) {
  auto count = static_cast<std::size_t>(last - first);
  std::stable_sort(first, last, [](const Glyph& a, const Glyph& b) { return a.severity > b.severity; });
  if (count >= kGlyphsCounted) {
    placed.push_back({first->x, first->x, first->item, count});
    return;
  }
  float start = first->x;
  for (auto glyph = first; glyph != last; ++glyph) start = std::min(start, glyph->x);
  if (!placed.empty()) start = std::max(start, placed.back().x + pitch);
  for (auto glyph = first; glyph != last; ++glyph, start += pitch) {
    float x = count == 1 ? std::max(glyph->x, start) : start;
    placed.push_back({x, glyph->x, glyph->item, 1});
  }
}

}  // namespace

std::vector<PlacedGlyph> placed_glyphs(std::vector<Glyph> glyphs, float pitch) {
  std::stable_sort(glyphs.begin(), glyphs.end(), [](const Glyph& a, const Glyph& b) { return a.x < b.x; });
  std::vector<PlacedGlyph> placed;
  for (auto first = glyphs.begin(); first != glyphs.end();) {
    auto last = first + 1;
    while (last != glyphs.end() && last->x - (last - 1)->x < pitch) ++last;
    place_cluster(first, last, pitch, placed);
    first = last;
  }
  return placed;
}

}  // namespace ddpscope::viewer
