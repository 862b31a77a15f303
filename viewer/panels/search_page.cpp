// What a search found, and how long the chosen call takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

constexpr float kHistogramHeight = 92;  // px at scale 1
constexpr float kMostShown = 14;

// Bars of all ranks, and before them those of the hit's rank, on one logarithmic axis of durations; heights
// are logarithms, too, so that one slow call among a million is seen.
void draw_histogram(PanelFrame& frame, const Box& box, const CallDurations& durations) {
  const Palette& p = frame.colours();
  std::size_t first = kDurationBuckets, last = 0;
  std::uint64_t most = 1;
  for (std::size_t i = 0; i < kDurationBuckets; ++i) {
    if (durations.all[i] == 0) continue;
    first = std::min(first, i), last = i;
    most = std::max(most, durations.all[i]);
  }
  if (first > last) return;
  float top = box.top + frame.px(22), bottom = box.bottom - frame.px(20);
  float width = box.width() / static_cast<float>(last - first + 1);
  auto height = [&](std::uint64_t count) {
    return count ? (bottom - top) * std::log2(1.0f + static_cast<float>(count)) /
                       std::log2(1.0f + static_cast<float>(most))
                 : 0.0f;
  };
  frame.canvas.text_in(
      Face::kSmall, {box.left, box.top + frame.px(4), box.right, top}, p.text_low,
      fmt::format("how long: {} of {} {}{}, all ranks; bright: this rank", count_text(durations.looked_at),
                  count_text(durations.count), plural(durations.count, "call"),
                  durations.within ? " in the measured time" : ""));
  for (std::size_t i = first; i <= last; ++i) {
    float left = box.left + width * static_cast<float>(i - first), right = left + std::max(width - 1, 1.0f);
    frame.canvas.fill({left, bottom - height(durations.all[i]), right, bottom}, p.backward);
    float inset = width / 4;
    frame.canvas.fill({left + inset, bottom - height(durations.on_rank[i]), right - inset, bottom}, p.link);
  }
  frame.canvas.text_in(Face::kMonoSmall, {box.left, bottom, box.right, box.bottom}, p.text_low,
                       duration_text(bucket_begin_ns(first)));
  frame.canvas.text_in_right(Face::kMonoSmall, {box.left, bottom, box.right, box.bottom}, p.text_low,
                             duration_text(bucket_begin_ns(last + 1)));
}

void draw_hit(PanelFrame& frame, std::size_t index, const Box& own, std::uint64_t most_counted) {
  const Palette& p = frame.colours();
  const SearchHit& hit = frame.state.search.hits[index];
  if (index == frame.state.search.chosen || frame.hovers(own)) frame.canvas.fill(own, p.selected);
  if (hit.count > 0) {  // how often on each rank: a histogram lying on its side
    float bar = frame.px(120) * static_cast<float>(hit.count) / static_cast<float>(most_counted);
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
  frame.on_click(own, ActionKind::kChooseHit, index);
}

// Which of the hits are shown, where that is not all; and what was not looked for.
std::string others_text(const Search& search, std::size_t first, std::size_t shown) {
  std::string text;
  if (shown < search.hits.size())
    text = fmt::format("{}–{} of {}; Enter, or the wheel", first + 1, first + shown, search.hits.size());
  if (search.names_left_out)
    text += fmt::format("{}{} more {} match: type more of it", text.empty() ? "" : "; ",
                        search.names_left_out, plural(search.names_left_out, "name"));
  return text;
}

}  // namespace

Box search_box(const Canvas& canvas, const Panes& panes) {
  return {panes.top.right - canvas.px(292), panes.top.top + canvas.px(8), panes.top.right - canvas.px(84),
          panes.top.bottom - canvas.px(8)};
}

SearchPage draw_search_hits(PanelFrame& frame, const Box& box, const CallDurations* durations) {
  const Palette& p = frame.colours();
  const Search& search = frame.state.search;
  float line = frame.px(22), below = frame.px(12) + (durations ? frame.px(kHistogramHeight) : 0);
  // As many as the window has room for, and a line that tells of the others.
  float room = (frame.window_bottom - box.bottom - below) / line - 1;
  auto most = static_cast<std::size_t>(std::clamp(room, 1.0f, kMostShown));
  std::size_t shown = std::min(search.hits.size(), most);
  std::size_t first = std::min(search.first_shown, search.hits.size() - shown);
  std::string others = others_text(search, first, shown);
  std::size_t lines = std::max<std::size_t>(shown, 1) + (others.empty() ? 0 : 1);
  Box page{box.left - frame.px(240), box.bottom + frame.px(4), box.right,
           box.bottom + below + line * static_cast<float>(lines)};
  frame.canvas.fill(page, p.raised, frame.px(4));
  frame.canvas.frame(page, p.strong_line, frame.px(4));
  float y = page.top + frame.px(4);
  if (shown == 0)
    frame.canvas.text_in(Face::kSmall, {page.left + frame.px(10), y, page.right, y + line}, p.text_low,
                         search.text.empty() ? "a call, a rank, a finding, a file of a finding"
                                             : "nothing matches; Esc closes");
  std::uint64_t most_counted = 1;
  for (const SearchHit& hit : search.hits) most_counted = std::max(most_counted, hit.count);
  for (std::size_t i = first; i < first + shown; ++i, y += line)
    draw_hit(frame, i, {page.left + 1, y, page.right - 1, y + line}, most_counted);
  if (!others.empty()) {
    if (shown == 0) y += line;
    frame.canvas.text_in(Face::kSmall, {page.left + frame.px(10), y, page.right, y + line}, p.text_low,
                         others);
    y += line;
  }
  if (durations)
    draw_histogram(frame, {page.left + frame.px(10), y, page.right - frame.px(10), page.bottom}, *durations);
  return {page, shown};
}

}  // namespace ddpscope::viewer
