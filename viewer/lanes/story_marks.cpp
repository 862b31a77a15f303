// Over all lanes: the evidence's numbered discs, the arrows between them, and what they mean.
#include <algorithm>
#include <cmath>
#include <optional>

#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {
namespace {

bool in_view(const LaneFrame& frame, Point p) {
  return p.x >= frame.plot.left - 1 && p.x <= frame.plot.right + 1 && p.y >= frame.plot.top &&
         p.y <= frame.plot.bottom;
}

// Discs that would cover each other stand side by side, by their number.
std::vector<Point> spread(const LaneFrame& frame, std::vector<Point> points) {
  float apart = 2 * disc_radius(frame.canvas) + frame.px(2);
  for (std::size_t i = 1; i < points.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (std::abs(points[i].y - points[k].y) < apart && std::abs(points[i].x - points[k].x) < apart &&
          points[k].x >= frame.plot.left)
        points[i].x = points[k].x + apart;
  return points;
}

Colour colour_of_arrow(const Palette& p, ArrowKind kind) {
  return kind == ArrowKind::kByLuck ? p.warning : kind == ArrowKind::kInTime ? p.link : p.error;
}

}  // namespace

Box RowPlacing::row_box(std::size_t row, const Box& plot) const {
  RowBox box = layout.box(row);
  return {plot.left, top + box.top * scale, plot.right, top + box.bottom() * scale};
}

Box RowPlacing::part_box(RowPlace place, const Box& plot) const {
  Box row = row_box(place.row, plot);
  const RowPart& part = rows[place.row].parts[place.part];
  return {plot.left, row.top + part.top * scale, plot.right, row.top + (part.top + part.height) * scale};
}

namespace {

// The line of the rank's collectives on its device.
std::optional<RowPlace> stream_of_rank(const LaneFrame& frame, const std::vector<Row>& rows,
                                       std::uint32_t rank_row) {
  auto runs_collectives = [&](std::uint32_t track) {
    if (frame.reader.tracks()[track].kind != merged::TrackKind::kStream) return false;
    auto names = frame.reader.names_on(track);
    return std::any_of(names.begin(), names.end(), [&](const merged::NameCount& on) {
      Kind kind = frame.reader.names()[on.name].kind;
      return kind == Kind::kCollective || kind == Kind::kBarrier;
    });
  };
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].kind == RowKind::kRank && rows[row].index == rank_row)
      for (std::size_t part = 0; part < rows[row].parts.size(); ++part) {
        const auto& tracks = rows[row].parts[part].tracks;
        if (std::any_of(tracks.begin(), tracks.end(), runs_collectives)) return RowPlace{row, part};
      }
  return std::nullopt;
}

}  // namespace

Point disc_point(const LaneFrame& frame, const RowPlacing& placing, const StoryDisc& disc) {
  Point point{frame.x_of(disc.drawn_ns()), -1e6f};
  if (disc.in_lane)
    for (std::size_t row = 0; row < placing.rows.size(); ++row)
      if (placing.rows[row].kind == RowKind::kStory) {
        point.y = placing.row_box(row, frame.plot).top +
                  disc.lane_y * placing.scale * lane_squeeze(frame.story, placing.rows[row].height);
        return point;
      }
  if (disc.on_device)
    if (auto place = stream_of_rank(frame, placing.rows, disc.rank_row)) {
      point.y = placing.part_box(*place, frame.plot).top;
      return point;
    }
  if (disc.place.track != merged::kNone) {
    RowPlace place = place_of_track(placing.rows, disc.place.track);
    if (place.row < placing.rows.size()) {
      point.y = placing.part_box(place, frame.plot).top;
      return point;
    }
  }
  if (disc.rank_row == merged::kNone) return point;
  std::size_t row = row_of_rank(placing.rows, frame.reader, disc.rank_row);
  if (row < placing.rows.size()) point.y = placing.row_box(row, frame.plot).middle_y();
  return point;
}

void draw_story_marks(LaneFrame& frame, const RowPlacing& placing, std::size_t focused) {
  std::vector<Point> points;
  for (const StoryDisc& disc : frame.story.discs) points.push_back(disc_point(frame, placing, disc));
  frame.canvas.push_clip(frame.plot);
  for (const StoryArrow& arrow : frame.story.arrows) {
    Point from = points[arrow.from], to = points[arrow.to];
    bool seen = (in_view(frame, from) || in_view(frame, to)) && from.y > -1e5f && to.y > -1e5f;
    if (seen) draw_arrow(frame.canvas, arrow_curve(from, to), arrow.kind);
  }
  std::vector<Point> at = spread(frame, points);
  for (std::size_t row = 0; row < placing.rows.size(); ++row)
    if (placing.rows[row].kind == RowKind::kStory && frame.story.lane == StoryLane::kFile)
      draw_file_labels(frame, at, placing.row_box(row, frame.plot));
  Box within = frame.plot.inset(frame.px(6));
  for (const StoryArrow& arrow : frame.story.arrows) {
    Point from = points[arrow.from], to = points[arrow.to];
    bool told_below = frame.story.lane == StoryLane::kFile;  // by the lane's last line
    if (told_below || arrow.lines.empty() || from.y < -1e5f || to.y < -1e5f) continue;
    if (!in_view(frame, from) && !in_view(frame, to)) continue;
    Point middle = point_of(arrow_curve(from, to), 0.5f);
    Label label{middle, colour_of_arrow(frame.colours(), arrow.kind), true, arrow.lines};
    draw_label(frame.canvas, label, label_box(frame.canvas, label, within));
  }
  for (const StoryNote& note : frame.story.notes) {
    Point p = at[note.disc];
    if (!in_view(frame, p)) continue;
    Label label{p, frame.colours().error, true, note.lines};
    std::optional<Box> found = note_box(frame.canvas, label, within, at);
    if (!found) continue;
    const Box& box = *found;
    frame.canvas.line({p.x, p.y},
                      {std::clamp(p.x, box.left, box.right), std::clamp(p.y, box.top, box.bottom)},
                      frame.colours().error, frame.px(1.5f));
    draw_label(frame.canvas, label, box);
  }
  for (std::size_t i = at.size(); i-- > 0;)
    if (in_view(frame, at[i])) draw_disc(frame.canvas, at[i], frame.story.discs[i].number, i == focused);
  frame.canvas.pop_clip();
}

}  // namespace ddpscope::viewer
