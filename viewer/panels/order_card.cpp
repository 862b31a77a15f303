// What could have ordered two accesses, and what was found of it.
#include <algorithm>
#include <map>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

constexpr float kLine = 14, kCross = 16;  // px at scale 1
constexpr std::size_t kMostLines = 4;     // of what was found

struct Fit {
  std::size_t most;  // lines of an edge of which nothing of its own was found
  float gap;         // between entries, px at scale 1
};

// What most of them came to, if that is more than one.
std::string common_of(const std::vector<findings::LookedFor>& edges) {
  std::map<std::string, int> counts;
  for (const findings::LookedFor& edge : edges) ++counts[edge.found];
  auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most != counts.end() && most->second > 1 ? most->first : "";
}

float height_of(const Canvas& canvas, const EdgeList& list) {
  float height = 0;
  for (const EdgeList::Entry& entry : list.entries)
    height += canvas.px(kLine * static_cast<float>(entry.edge.size() + entry.found.size()) + list.gap);
  return height;
}

}  // namespace

EdgeList fit_edges(const Canvas& canvas, const std::vector<findings::LookedFor>& edges, float width,
                   float height) {
  EdgeList list{common_of(edges), 0, {}};
  // Closer together before anything is cut.
  for (Fit fit : {Fit{2, 6}, {2, 3}, {2, 0}, {1, 6}, {1, 3}, {1, 0}}) {
    list.gap = fit.gap;
    list.entries.clear();
    for (const findings::LookedFor& edge : edges) {
      bool own = edge.found != list.common;
      EdgeList::Entry entry{wrapped(canvas, Face::kSmall, edge.edge, width, own ? 2 : fit.most), {}};
      if (own) entry.found = wrapped(canvas, Face::kSmall, edge.found, width, kMostLines);
      list.entries.push_back(std::move(entry));
    }
    if (height_of(canvas, list) <= height) break;
  }
  return list;
}

void draw_edges(PanelFrame& frame, const Box& in, const std::vector<findings::LookedFor>& edges) {
  const Palette& p = frame.colours();
  Box head{in.left, in.top - frame.px(2), in.right, in.top + frame.px(16)};
  Box box{in.left + frame.px(kCross), head.top + frame.px(22), in.right, in.bottom + frame.px(4)};
  EdgeList list = fit_edges(frame.canvas, edges, box.width(), box.height());
  head.left += frame.canvas.text_in(Face::kStrong, head, p.text, "What could order them") + frame.px(8);
  frame.canvas.text_in_right(Face::kSmall, head, p.text, list.common);
  for (const EdgeList::Entry& entry : list.entries) {
    float line = frame.px(kLine), y = box.top;
    box.top += line * static_cast<float>(entry.edge.size() + entry.found.size()) + frame.px(list.gap);
    if (box.top > box.bottom + 1) return;
    float x = in.left + frame.px(4), middle = y + frame.px(7), half = frame.px(3.5f);
    frame.canvas.line({x - half, middle - half}, {x + half, middle + half}, p.error, frame.px(1.6f));
    frame.canvas.line({x - half, middle + half}, {x + half, middle - half}, p.error, frame.px(1.6f));
    for (const std::string& words : entry.edge)
      frame.canvas.text(Face::kSmall, {box.left, y}, p.text_mid, words), y += line;
    for (const std::string& words : entry.found)
      frame.canvas.text(Face::kSmall, {box.left, y}, p.text, words), y += line;
    if (list.gap >= 3) {
      y += frame.px(list.gap / 2) - 1;
      frame.canvas.line({in.left, y}, {in.right, y}, p.line);
    }
  }
}

}  // namespace ddpscope::viewer
