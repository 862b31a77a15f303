// The page of keys and what the mouse does, over everything else.
#include <algorithm>
#include <array>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

struct KeyLine {
  const char *keys, *words;
};
constexpr std::array<KeyLine, 18> kKeys = {{{"N  Shift+N", "next, previous finding"},
                                            {"1 … 9", "go to that evidence"},
                                            {"F  F", "centre what is chosen; again: fit it"},
                                            {"R", "only the ranks of this finding"},
                                            {"L", "only the ranks that a text asks for"},
                                            {"W S  A D", "zoom, pan; arrows too"},
                                            {"Home", "the whole run"},
                                            {".  ,", "next, previous event of the chosen row"},
                                            {"P", "pin the row under the mouse to the top"},
                                            {"Q", "evidence drawer on, off"},
                                            {"M  Shift+M", "bookmark here; go to the next"},
                                            {"B", "type a note at the nearest bookmark"},
                                            {"C", "copy what is chosen as text"},
                                            {"E", "the page that explains the finding"},
                                            {"X", "what differs from the other trace"},
                                            {"Ctrl+F  Ctrl+P", "find a call, rank or finding"},
                                            {"Ctrl + -  T", "scale; theme"},
                                            {"Esc", "clear selection, filter, measure"}}};
constexpr std::array<KeyLine, 8> kMouse = {{{"wheel", "zoom at the cursor"},
                                            {"  with Ctrl", "finer; with Shift faster"},
                                            {"  over names", "scrolls rows; PageUp PageDown"},
                                            {"drag", "measure a stretch of time"},
                                            {"right drag", "pan"},
                                            {"middle drag", "zoom to the stretch"},
                                            {"click", "choose an event, finding, card"},
                                            {"name of a row", "fold, unfold"}}};

constexpr float kKeyLine = 24;  // px at scale 1

template <std::size_t N>
float draw_lines(PanelFrame& frame, const std::array<KeyLine, N>& lines, float x, float y, float width) {
  const Palette& p = frame.colours();
  for (const KeyLine& line : lines) {
    frame.canvas.text_in(Face::kMono, {x, y, x + frame.px(110), y + frame.px(20)}, p.text, line.keys);
    frame.canvas.text_in(Face::kBody, {x + frame.px(118), y, x + width, y + frame.px(20)}, p.text_mid,
                         line.words);
    y += frame.px(kKeyLine);
  }
  return y;
}

}  // namespace

void draw_keys_page(PanelFrame& frame, const Box& window) {
  const Palette& p = frame.colours();
  frame.canvas.fill(window, with_alpha(p.window, 0.7f));
  float width = frame.px(860), height = frame.px(56 + kKeyLine * kKeys.size() + 20);
  Box page{window.middle_x() - width / 2, window.middle_y() - height / 2, window.middle_x() + width / 2,
           window.middle_y() + height / 2};
  frame.canvas.fill(page, p.raised, frame.px(6));
  frame.canvas.frame(page, p.strong_line, frame.px(6));
  frame.canvas.text(Face::kTitle, {page.left + frame.px(28), page.top + frame.px(20)}, p.text, "Keys");
  frame.canvas.text(Face::kTitle, {page.middle_x() + frame.px(14), page.top + frame.px(20)}, p.text, "Mouse");
  draw_lines(frame, kKeys, page.left + frame.px(28), page.top + frame.px(56), width / 2 - frame.px(40));
  float y = draw_lines(frame, kMouse, page.middle_x() + frame.px(14), page.top + frame.px(56),
                       width / 2 - frame.px(40));
  y += frame.px(12);
  for (const std::string& words : wrapped(frame.canvas, Face::kBody,
                                          "Shapes tell severity: diamond error, triangle warning, disc info. "
                                          "Solid: certain; with a core: likely; outlined: possible.",
                                          width / 2 - frame.px(50), 4)) {
    frame.canvas.text(Face::kBody, {page.middle_x() + frame.px(14), y}, p.text_low, words);
    y += frame.px(18);
  }
}

}  // namespace ddpscope::viewer
