// Many ranks: a heat row a host, and how many ranks are in what.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "viewer/draw/stacks.h"
#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

Columns columns_at(const LaneFrame& frame, float left, float right) {
  std::uint32_t count = frame.reader.columns();
  double run = static_cast<double>(std::max<std::int64_t>(frame.reader.job().duration_ns, 1));
  auto at = [&](float x) { return static_cast<double>(frame.view.t_of(x)) / run * count; };
  double from = at(left), to = at(right);
  if (to <= 0 || from >= count) return {0, 0};
  auto first = static_cast<std::uint32_t>(std::max(from, 0.0));
  auto last = static_cast<std::uint32_t>(std::min<double>(std::max(to, from + 1), count));
  return {first, std::max(last, first + 1)};
}

// Below this nobody minds: a job whose ranks are late by microseconds is not to look loud.
constexpr std::uint32_t kLeastScaleUs = 1000;

// What the latest rank is late by most of the time fills the ramp: nine tenths of the job's columns lie in
// it.
float find_lateness_scale_us(const merged::Reader& reader) {
  std::vector<std::uint32_t> late;
  for (const merged::Cell& cell : reader.job_cells())
    if (cell.late_us != merged::kNoLateness) late.push_back(cell.late_us);
  if (late.empty()) return kLeastScaleUs;
  auto at = late.begin() + static_cast<std::ptrdiff_t>(late.size() * 9 / 10);
  std::nth_element(late.begin(), at, late.end());
  return static_cast<float>(std::max(kLeastScaleUs, *at));
}

float lateness_scale_us(LaneFrame& frame) {
  if (frame.lateness_scale_us == 0) frame.lateness_scale_us = find_lateness_scale_us(frame.reader);
  return frame.lateness_scale_us;
}

constexpr float kCellPx = 2;

// The same for all rows of a frame.
const std::vector<Columns>& columns_of(LaneFrame& frame) {
  if (frame.columns.empty())
    for (float x = frame.plot.left; x + kCellPx <= frame.plot.right; x += kCellPx)
      frame.columns.push_back(columns_at(frame, x, x + kCellPx));
  return frame.columns;
}

void draw_cells(LaneFrame& frame, std::span<const merged::Cell> cells, const Box& box) {
  if (cells.empty()) return;
  float scale = lateness_scale_us(frame), step = kCellPx;
  const std::vector<Columns>& all = columns_of(frame);
  std::size_t width = all.size();
  auto colour_at = [&](std::size_t i) -> Colour {
    Columns columns = all[i];
    std::uint32_t worst = 0;
    bool any = false;
    for (std::uint32_t c = columns.first; c < std::min<std::size_t>(columns.last, cells.size()); ++c)
      if (cells[c].late_us != merged::kNoLateness) any = true, worst = std::max(worst, cells[c].late_us);
    return any ? ramp_colour(frame.colours(), static_cast<float>(worst) / scale) : frame.colours().lane_odd;
  };
  if (frame.canvas.surface()) {
    Pixels pixels = frame.canvas.surface()->add_pixels(
        frame.canvas.list(), width, 1,
        {frame.plot.left, box.top, frame.plot.left + static_cast<float>(width) * step, box.bottom});
    for (std::size_t i = 0; i < width; ++i) pixels.row(0)[i] = colour_at(i);
    return;
  }
  for (std::size_t i = 0; i < width;) {
    std::size_t last = i + 1;
    Colour colour = colour_at(i);
    while (last < width && colour_at(last) == colour) ++last;
    frame.canvas.fill({frame.plot.left + static_cast<float>(i) * step, box.top,
                       frame.plot.left + static_cast<float>(last) * step, box.bottom},
                      colour);
    i = last;
  }
}

bool host_at_fault(const LaneFrame& frame, std::uint32_t host) {
  if (frame.story.finding == merged::kNone) return false;
  const auto& ranks = frame.reader.hosts()[host].ranks;
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](std::uint32_t row) { return frame.story.at_fault(row); });
}

}  // namespace

void draw_hosts_heading(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.text_in(
      Face::kStrong, {frame.gutter_left + frame.px(12), box.top, frame.plot.left, box.bottom}, p.text,
      fmt::format("{} {}", frame.reader.hosts().size(), plural(frame.reader.hosts().size(), "host")));
  frame.canvas.text_in_right(Face::kSmall,
                             {frame.gutter_left, box.top, frame.plot.left - frame.px(10), box.bottom},
                             p.text_low, "late by");
  float x = frame.plot.left + frame.px(20), width = frame.px(140);
  frame.canvas.text_in(Face::kMonoSmall, {frame.plot.left + frame.px(6), box.top, x + width, box.bottom},
                       p.text_low, "0");
  for (int i = 0; i < 70; ++i)
    frame.canvas.fill({x + width * static_cast<float>(i) / 70, box.top + frame.px(9),
                       x + width * static_cast<float>(i + 1) / 70, box.bottom - frame.px(9)},
                      ramp_colour(p, static_cast<float>(i) / 69));
  std::string words = fmt::format("{} behind the first to arrive, mean of the collectives in a cell",
                                  duration_text(static_cast<std::int64_t>(lateness_scale_us(frame)) * 1000));
  frame.canvas.text_in(Face::kSmall, {x + width + frame.px(8), box.top, frame.plot.right, box.bottom},
                       p.text_low, words);
  frame.canvas.line({frame.gutter_left, box.bottom - 1}, {frame.plot.right, box.bottom - 1}, p.line);
}

void draw_host_row(LaneFrame& frame, const Row& row, const Box& box) {
  const Palette& p = frame.colours();
  const merged::HostRow& host = frame.reader.hosts()[row.index];
  bool faulty = host_at_fault(frame, row.index);
  if (row.open) {
    frame.canvas.text_in(
        Face::kStrong,
        {frame.gutter_left + frame.px(24), box.top, frame.plot.left - frame.px(40), box.bottom}, p.text,
        host.name);
    frame.canvas.triangle({frame.gutter_left + frame.px(9), box.middle_y() - frame.px(3)},
                          {frame.gutter_left + frame.px(17), box.middle_y() - frame.px(3)},
                          {frame.gutter_left + frame.px(13), box.middle_y() + frame.px(4)}, p.text_mid);
  } else if (row.index % 16 == 0 && box.height() < frame.px(11)) {
    float middle = box.middle_y(), half = frame.px(6);
    frame.canvas.text_in_right(
        Face::kMonoSmall, {frame.gutter_left, middle - half, frame.plot.left - frame.px(8), middle + half},
        p.text_low, host.name);
  }
  draw_cells(frame, frame.reader.host_cells(row.index), box);
  if (faulty)
    frame.canvas.fill({frame.gutter_left, box.top, frame.gutter_left + frame.px(3), box.bottom},
                      colour_of(p, frame.reader.outcome().findings[frame.story.finding].severity));
}

void draw_summary_row(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.lane_even);
  auto ranks = static_cast<float>(std::max(frame.reader.job().ranks, 1));
  draw_gutter(frame, box,
              {{Face::kStrong, p.text, "ranks in …"},
               {Face::kSmall, p.text_low, fmt::format("how many of {} do what", frame.reader.job().ranks)}});
  const std::array<std::pair<merged::Activity, Colour>, 5> stack = {
      {{merged::Activity::kCompute, p.backward},
       {merged::Activity::kCollective, p.collective},
       {merged::Activity::kCopy, p.copy},
       {merged::Activity::kFileRead, p.file_read},
       {merged::Activity::kFileWrite, p.file_write}}};
  Box area{frame.plot.left, box.top + frame.px(7), frame.plot.right, box.bottom - frame.px(3)};
  draw_stacks(frame.canvas, area, kCellPx, [&](float x, std::vector<StackPart>& parts) {
    Columns columns = columns_at(frame, x, x + kCellPx);
    if (columns.last <= columns.first) return;
    for (auto [activity, colour] : stack) {
      auto values = frame.reader.ranks_in(activity);
      double sum = 0;
      for (std::uint32_t c = columns.first; c < std::min<std::size_t>(columns.last, values.size()); ++c)
        sum += values[c];
      float height = static_cast<float>(sum / (columns.last - columns.first) / 256) / ranks * area.height();
      if (height >= 0.5f) parts.push_back({height, colour});
    }
  });
  frame.canvas.line({frame.gutter_left, box.bottom - 1}, {frame.plot.right, box.bottom - 1}, p.strong_line);
}

}  // namespace ddpscope::viewer
