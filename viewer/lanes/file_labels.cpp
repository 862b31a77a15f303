// What each rank does with the file: a text beside the disc that tells it, over arrows, not under them.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/lanes/lane_frame.h"
#include "viewer/view/label_place.h"

namespace ddpscope::viewer {
namespace {

// Where the arrows run through the rows from `top` to `bottom`.
std::vector<Stretch> arrows_through(const LaneFrame& frame, const std::vector<Point>& discs, float top,
                                    float bottom) {
  std::vector<Stretch> through;
  for (const StoryArrow& arrow : frame.story.arrows) {
    std::vector<Point> points = sampled(arrow_curve(discs[arrow.from], discs[arrow.to]), 96);
    for (std::size_t i = 1; i < points.size(); ++i) {
      auto [high, low] = std::minmax(points[i - 1].y, points[i].y);
      auto [left, right] = std::minmax(points[i - 1].x, points[i].x);
      if (low >= top && high <= bottom) through.push_back({left, right + 1});
    }
  }
  return through;
}

std::string words_of(const LaneFrame& frame, const FileLine& line, bool told, bool with_file) {
  std::string does = deed_text(line, told, frame.view.shown);
  if (with_file) does += fmt::format(": {}", base_name(line.file));
  return fmt::format("rank {}{} {}", frame.reader.ranks()[line.rank_row].rank,
                     does.starts_with("it ") ? ":" : "", does);
}

// Its bars in view.
std::vector<Stretch> bars_of(const LaneFrame& frame, const FileLine& line) {
  std::vector<Stretch> bars;
  for (const StoryAccess& access : line.accesses)
    if (access.end_ns >= frame.view.shown.from_ns && access.begin_ns <= frame.view.shown.to_ns)
      bars.push_back({frame.x_of(access.begin_ns), frame.x_of(access.end_ns) + frame.px(3)});
  return bars;
}

}  // namespace

void draw_file_labels(LaneFrame& frame, const std::vector<Point>& discs, const Box& lane) {
  const Palette& p = frame.colours();
  float radius = disc_radius(frame.canvas) + frame.px(2);
  float lower = lane_squeeze(frame.story, lane.height() / frame.px(1));
  std::size_t shown = std::min<std::size_t>(frame.story.lines.size(), kMostFileLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const FileLine& line = frame.story.lines[i];
    float middle = lane.top + frame.px(file_line_middle(i)) * lower, half = frame.px(8) * lower;
    std::vector<Stretch> taken = bars_of(frame, line);
    std::optional<Stretch> anchor;
    bool told = false;
    if (!taken.empty()) anchor = taken.front();
    for (std::size_t k = 0; k < discs.size(); ++k) {
      if (std::abs(discs[k].y - middle) > half || discs[k].x < frame.plot.left ||
          discs[k].x > frame.plot.right)
        continue;
      taken.push_back({discs[k].x - radius, discs[k].x + radius});
      if (k == line.disc) anchor = taken.back(), told = true;
    }
    if (!anchor) continue;
    std::string words;
    std::optional<LabelPlace> place;
    for (bool with_file : {true, false}) {
      if (place || (with_file && !frame.story.several_files())) continue;
      words = words_of(frame, line, told, with_file);
      float width = frame.canvas.text_width(Face::kSmall, words) + 2;
      place = place_beside(*anchor, width, frame.px(6), {frame.plot.left + frame.px(4), frame.plot.right},
                           taken, arrows_through(frame, discs, middle - half, middle + half));
    }
    if (!place) continue;
    Box own{place->at.left, middle - half, place->at.right, middle + half};
    if (place->crossed)
      frame.canvas.fill({own.left - frame.px(4), own.top, own.right + frame.px(4), own.bottom}, p.lane_even);
    Colour colour = told && line.does.starts_with("fails") ? p.error
                    : line.writes                          ? p.file_write
                                                           : p.file_read;
    frame.canvas.text_in(Face::kSmall, own, colour, words);
  }
}

}  // namespace ddpscope::viewer
