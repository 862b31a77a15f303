// The page of keys and what the mouse does, over everything else.
#include <algorithm>
#include <array>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

struct Line {
  const char *keys, *words;
};
constexpr std::array<Line, 17> kKeys = {{{"N  Shift+N", "next, previous finding"},
                                         {"1 … 9", "go to that evidence"},
                                         {"F  F", "centre what is chosen; again: fit it"},
                                         {"R", "only the ranks of this finding"},
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
                                         {"Ctrl+F", "find a call, rank or finding"},
                                         {"Ctrl + -  T", "scale; theme"},
                                         {"Esc", "clear selection, filter, measure"}}};
constexpr std::array<Line, 7> kMouse = {{{"wheel", "zoom at the cursor; over the gutter: scroll"},
                                         {"Shift+wheel", "scroll rows"},
                                         {"drag", "measure a stretch of time"},
                                         {"right drag", "pan"},
                                         {"middle drag", "zoom to the stretch"},
                                         {"click", "choose an event, finding, card"},
                                         {"name of a row", "fold, unfold"}}};

template <std::size_t N>
float draw_lines(PanelFrame& frame, const std::array<Line, N>& lines, float x, float y, float width) {
  const Palette& p = frame.colours();
  for (const Line& line : lines) {
    frame.canvas.text_in(Face::kMono, {x, y, x + frame.px(110), y + frame.px(20)}, p.text, line.keys);
    frame.canvas.text_in(Face::kBody, {x + frame.px(118), y, x + width, y + frame.px(20)}, p.text_mid,
                         line.words);
    y += frame.px(24);
  }
  return y;
}

}  // namespace

void draw_keys_page(PanelFrame& frame, const Box& window) {
  const Palette& p = frame.colours();
  frame.canvas.fill(window, with_alpha(p.window, 0.7f));
  float width = frame.px(860), height = frame.px(480);
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

Box search_box(const Canvas& canvas, const Panes& panes) {
  return {panes.top.right - canvas.px(292), panes.top.top + canvas.px(8), panes.top.right - canvas.px(84),
          panes.top.bottom - canvas.px(8)};
}

void draw_search_hits(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  const Search& search = frame.state.search;
  float line = frame.px(22);
  std::size_t shown = std::min<std::size_t>(search.hits.size(), 14);
  Box page{box.left - frame.px(240), box.bottom + frame.px(4), box.right,
           box.bottom + frame.px(12) + line * static_cast<float>(std::max<std::size_t>(shown, 1))};
  frame.canvas.fill(page, p.raised, frame.px(4));
  frame.canvas.frame(page, p.strong_line, frame.px(4));
  float y = page.top + frame.px(4);
  if (shown == 0)
    frame.canvas.text_in(Face::kSmall, {page.left + frame.px(10), y, page.right, y + line}, p.text_low,
                         search.text.empty() ? "a call, a rank, a finding" : "nothing matches; Esc closes");
  std::uint64_t most = 1;
  for (const SearchHit& hit : search.hits) most = std::max(most, hit.count);
  for (std::size_t i = 0; i < shown; ++i, y += line) {
    const SearchHit& hit = search.hits[i];
    Box own{page.left + 1, y, page.right - 1, y + line};
    if (i == search.chosen || frame.hovers(own)) frame.canvas.fill(own, p.selected);
    if (hit.count > 0) {  // how often on each rank: a histogram lying on its side
      float bar = frame.px(120) * static_cast<float>(hit.count) / static_cast<float>(most);
      frame.canvas.fill({own.right - frame.px(60) - bar, own.top + frame.px(6), own.right - frame.px(60),
                         own.bottom - frame.px(6)},
                        p.backward);
      frame.canvas.text_in_right(Face::kMonoSmall, {own.left, own.top, own.right - frame.px(8), own.bottom},
                                 p.text_mid, count_text(hit.count));
    }
    frame.canvas.text_in(
        Face::kMonoSmall,
        {own.left + frame.px(10), own.top, own.right - frame.px(hit.count ? 190 : 10), own.bottom}, p.text,
        hit.text);
    frame.on_click(own, ActionKind::kChooseHit, i);
  }
}

}  // namespace ddpscope::viewer
