// What every lane is given to draw itself in one frame.
#pragma once
#include "collector/merged/reader.h"
#include "viewer/draw/canvas.h"
#include "viewer/lanes/row_list.h"
#include "viewer/story/story.h"
#include "viewer/timeline/labels.h"
#include "viewer/timeline/track_walk.h"
#include "viewer/view/row_layout.h"

namespace ddpscope::viewer {

// The collective under the mouse, lit on all ranks.
struct LitCollective {
  std::uint32_t communicator = merged::kNone;
  std::uint64_t sequence = 0;
};

// Of the columns of the whole run those under a pixel.
struct Columns {
  std::uint32_t first, last;  // last: one after
};

struct LaneFrame {
  Canvas& canvas;
  const merged::Reader& reader;
  TimeView view;
  Box plot;  // of all lanes: nothing on the time axis is drawn outside
  float gutter_left = 0;
  WalkBudget& budget;
  Labels& labels;
  const Story& story;
  LitCollective lit{};
  std::vector<Columns> columns{};  // below each cell of heat; empty: not asked for yet
  float lateness_scale_us = 0;     // 0: not asked for yet

  const Palette& colours() const { return canvas.colours(); }
  float px(float at_scale_one) const { return canvas.px(at_scale_one); }
  // The time's pixel, kept within the plot with a little beyond.
  float x_of(std::int64_t t_ns) const { return view.x_of(t_ns); }
};

struct BarStyle {
  Colour fill, text;
  bool hatched = false;
  float least_px = 1;  // never narrower
  Colour edge = 0;     // bright left edge, 0: none
};
BarStyle style_of(const Palette& palette, Kind kind, bool on_device);

// The bars of `tracks` over each other in a box of the plot.
void draw_bars(LaneFrame& frame, const std::vector<std::uint32_t>& tracks, const Box& box, bool on_device,
               bool with_text);

void draw_rank_row(LaneFrame& frame, const Row& row, const Box& box, bool even);
void draw_communicator_row(LaneFrame& frame, const Row& row, const Box& box);
void draw_steps_row(LaneFrame& frame, const Row& row, const Box& box);
void draw_story_row(LaneFrame& frame, const Box& box);
void draw_host_row(LaneFrame& frame, const Row& row, const Box& box);
void draw_rank_strip(LaneFrame& frame, const Row& row, const Box& box);
void draw_summary_row(LaneFrame& frame, const Box& box);
void draw_hosts_heading(LaneFrame& frame, const Box& box);

// A line of text in the gutter; right-aligned part beside the plot.
struct GutterLine {
  Face face;
  Colour colour;
  std::string text;
};
// `kept_free`: px at scale 1 beside the plot, for something else.
void draw_gutter(LaneFrame& frame, const Box& row, const std::vector<GutterLine>& lines, float kept_free = 0);

// Parts of the story lane.
void draw_file_lane(LaneFrame& frame, const Box& box);
// Over the arrows. `discs`: where they stand; `lane`: the story's.
void draw_file_labels(LaneFrame& frame, const std::vector<Point>& discs, const Box& lane);
void draw_batches_lane(LaneFrame& frame, const Box& box);
void draw_syncs_lane(LaneFrame& frame, const Box& box);
void draw_absence_lane(LaneFrame& frame, const Box& box);

// Where a disc stands: on the bar of its event if that is to be seen, else in the middle of its rank's row.
struct RowPlacing {
  const std::vector<Row>& rows;
  const RowLayout& layout;  // px at scale 1
  float top = 0;            // px of the window, of the first row
  float scale = 1;

  Box row_box(std::size_t row, const Box& plot) const;
  Box part_box(RowPlace place, const Box& plot) const;
};
Point disc_point(const LaneFrame& frame, const RowPlacing& placing, const StoryDisc& disc);
// Arrows, notes and discs of the story; `focused`: index of the chosen disc, or none.
void draw_story_marks(LaneFrame& frame, const RowPlacing& placing, std::size_t focused);

}  // namespace ddpscope::viewer
