// The optimizer steps of one rank, and the micro-batches in them: what the ranks' rows below are read
// against.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

void draw_steps(LaneFrame& frame, std::uint32_t track, const Box& box, bool micro_batches) {
  const Palette& p = frame.colours();
  std::vector<Bar> bars;
  walk_track(frame.reader, track, frame.view, frame.budget, bars);
  for (const Bar& bar : bars) {
    float left = std::max(bar.left, frame.plot.left), right = std::min(bar.right, frame.plot.right);
    if (right - left < 1) continue;
    Box own{left, box.top, right - 1, box.bottom};
    frame.canvas.fill(own, bar.folded ? p.raised : bar.index % 2 ? p.raised : p.selected);
    if (bar.folded || right - left < frame.px(26)) continue;
    std::string text = micro_batches ? "micro-batch" : fmt::format("step {}", bar.index);
    merged::Event event = frame.reader.event({track, bar.index});
    std::string longer = text + "   " + duration_text(event.end_ns - event.begin_ns);
    bool fits = frame.canvas.text_width(Face::kSmall, longer) < right - left - frame.px(12);
    if (fits) text = longer;
    if (!micro_batches && frame.canvas.text_width(Face::kSmall, text) > right - left - 4)
      text = fmt::format("{}", bar.index);
    frame.canvas.text_centred(Face::kSmall, own, p.text_mid, text);
  }
}

}  // namespace

void draw_steps_row(LaneFrame& frame, const Row& row, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  const merged::RankRow& rank = frame.reader.ranks()[row.index];
  draw_gutter(frame, {box.left, box.top - frame.px(4), box.right, box.bottom},
              {{Face::kSmall, p.text_mid, fmt::format("steps of rank {}", rank.rank)}});
  frame.canvas.line({frame.gutter_left, box.bottom - 1}, {frame.plot.right, box.bottom - 1}, p.line);
  frame.canvas.push_clip({frame.plot.left, std::max(box.top, frame.plot.top), frame.plot.right,
                          std::min(box.bottom, frame.plot.bottom)});
  for (const RowPart& part : row.parts)
    for (std::uint32_t track : part.tracks)
      draw_steps(frame, track,
                 {frame.plot.left, box.top + frame.px(part.top), frame.plot.right,
                  box.top + frame.px(part.top + part.height)},
                 frame.reader.tracks()[track].lane == 1);
  frame.canvas.pop_clip();
}

}  // namespace ddpscope::viewer
