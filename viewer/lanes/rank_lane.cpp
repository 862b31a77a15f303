// A rank's row: its name beside the lines of its host, streams and workers.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

std::string pid_of(const std::string& process) {
  std::size_t colon = process.rfind(':');
  return colon == std::string::npos ? process : process.substr(colon + 1);
}

std::string name_of_row(const merged::RankRow& rank) {
  return rank.rank >= 0 ? fmt::format("rank {}", rank.rank) : rank.role;
}

std::string second_line(const LaneFrame& frame, const merged::RankRow& rank) {
  std::string text = rank.device.empty() ? "" : rank.device + " · ";
  bool several = frame.reader.hosts().size() > 1 && rank.host != merged::kNone;
  return (several ? frame.reader.hosts()[rank.host].name + " · " : text) + pid_of(rank.process);
}

// A bar at the gutter's edge and the finding's shape beside the name.
void draw_fault(LaneFrame& frame, const Box& box, float name_width) {
  const findings::Finding& finding = frame.reader.outcome().findings[frame.story.finding];
  Colour colour = colour_of(frame.colours(), finding.severity);
  frame.canvas.fill({frame.gutter_left, box.top, frame.gutter_left + frame.px(3), box.bottom}, colour);
  float y = box.top + frame.px(15);
  draw_severity(frame.canvas, {frame.gutter_left + frame.px(12) + name_width + frame.px(16), y}, frame.px(11),
                finding.severity, finding.confidence);
}

void draw_missing(LaneFrame& frame, const merged::RankRow& rank, const Box& box) {
  frame.canvas.hatch({frame.plot.left, box.top + frame.px(6), frame.plot.right, box.bottom - frame.px(6)},
                     frame.colours().wait_line, frame.colours().wait_ground, frame.px(8));
  Box words{frame.plot.left + frame.px(12), box.top, frame.plot.right, box.bottom};
  std::string text = fmt::format("no trace for {}", name_of_row(rank));
  float width = frame.canvas.text_width(Face::kBody, text);
  frame.canvas.fill({words.left - frame.px(6), box.middle_y() - frame.px(10),
                     words.left + width + frame.px(6), box.middle_y() + frame.px(10)},
                    frame.colours().wait_ground);
  frame.canvas.text_in(Face::kBody, words, frame.colours().text_mid, text);
}

}  // namespace

void draw_gutter(LaneFrame& frame, const Box& row, const std::vector<GutterLine>& lines, float kept_free) {
  float y = row.top + frame.px(7), left = frame.gutter_left + frame.px(12);
  for (const GutterLine& line : lines) {
    float height = frame.canvas.line_height(line.face);
    if (y + height > row.bottom + 1) return;
    frame.canvas.text_in(line.face, {left, y, frame.plot.left - frame.px(10 + kept_free), y + height},
                         line.colour, line.text);
    y += height + frame.px(1);
  }
}

void draw_rank_row(LaneFrame& frame, const Row& row, const Box& box, bool even) {
  const Palette& p = frame.colours();
  const merged::RankRow& rank = frame.reader.ranks()[row.index];
  bool faulty = frame.story.finding != merged::kNone && frame.story.at_fault(row.index);
  frame.canvas.fill(box, even ? p.lane_even : p.lane_odd);
  if (faulty && frame.story.fault_rows.size() < frame.reader.ranks().size()) {  // of all, none stands out
    Severity severity = frame.reader.outcome().findings[frame.story.finding].severity;
    frame.canvas.fill(box, with_alpha(ground_of(p, severity), 0.55f));
  }
  frame.canvas.line({frame.gutter_left, box.bottom - 1}, {frame.plot.right, box.bottom - 1}, p.line);
  std::string name = name_of_row(rank);
  draw_gutter(frame, box,
              {{Face::kStrong, p.text, name}, {Face::kMonoSmall, p.text_low, second_line(frame, rank)}});
  if (faulty) draw_fault(frame, box, frame.canvas.text_width(Face::kStrong, name));
  if (rank.missing) return draw_missing(frame, rank, box);
  if (frame.reader.is_preview() && rank.tracks == 0) {
    frame.canvas.text_in(Face::kBody, {frame.plot.left + frame.px(12), box.top, frame.plot.right, box.bottom},
                         p.text_low, "not merged yet");
    return;
  }
  for (const RowPart& part : row.parts) {
    Box own{frame.plot.left, box.top + frame.px(part.top), frame.plot.right,
            box.top + frame.px(part.top + part.height)};
    if (own.bottom < frame.plot.top || own.top > frame.plot.bottom) continue;
    float height = std::max(own.height(), frame.canvas.line_height(Face::kSmall));
    if (!part.label.empty() && own.top + height <= box.bottom + frame.px(2)) {
      frame.canvas.text_in_right(
          Face::kSmall,
          {frame.gutter_left + frame.px(100), own.top, frame.plot.left - frame.px(10), own.top + height},
          p.text_low, part.label);
    }
    frame.canvas.push_clip({frame.plot.left, frame.plot.top, frame.plot.right, frame.plot.bottom});
    draw_bars(frame, part.tracks, own, part.kind == PartKind::kDevice, part.height >= 13);
    frame.canvas.pop_clip();
  }
}

void draw_rank_strip(LaneFrame& frame, const Row& row, const Box& box) {
  const merged::RankRow& rank = frame.reader.ranks()[row.index];
  bool faulty = frame.story.finding != merged::kNone && frame.story.at_fault(row.index);
  frame.canvas.text_in_right(
      Face::kMonoSmall, {frame.gutter_left, box.top, frame.plot.left - frame.px(8), box.bottom},
      faulty ? frame.colours().error : frame.colours().text_low, fmt::format("{}", rank.rank));
  std::vector<std::uint32_t> tracks;
  for (const RowPart& part : rank_row(frame.reader, row.index, false).parts)
    tracks.insert(tracks.end(), part.tracks.begin(), part.tracks.end());
  frame.canvas.push_clip({frame.plot.left, frame.plot.top, frame.plot.right, frame.plot.bottom});
  draw_bars(frame, tracks, {frame.plot.left, box.top, frame.plot.right, box.bottom - 1}, false, false);
  frame.canvas.pop_clip();
}

}  // namespace ddpscope::viewer
