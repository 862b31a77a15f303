// The viewer as one object: a trace, what the user chose, and a function that draws a frame. Whoever owns the
// window or the picture calls it between ImGui::NewFrame and ImGui::Render.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/app/input.h"
#include "viewer/app/loader.h"
#include "viewer/app/state.h"
#include "viewer/compare/call_durations.h"
#include "viewer/compare/comparison.h"
#include "viewer/lanes/lane_frame.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/story/story.h"
#include "viewer/theme/theme.h"
#include "viewer/timeline/labels.h"

namespace ddpscope::viewer {

struct AppOptions {
  ThemeName theme = ThemeName::kDark;
  float scale = 1;
  bool reduced_motion = false;
  bool unhurried = false;  // pictures: a frame takes the time that it needs and waits for the disk
};

// The events of a name, or of a file, on a rank, from a time on.
struct SoughtOnRank {
  std::uint32_t name = 0, rank_row = 0;
  std::int64_t from_ns = 0;
  std::string path{};  // empty: by name
  bool operator==(const SoughtOnRank&) const = default;
};

class App {
 public:
  App(merged::Reader reader, const AppOptions& options);

  // Fills the atlas of the current ImGui context; after it the renderer makes its texture anew.
  void build_fonts();
  bool wants_fonts() const { return wants_fonts_; }

  // `surface` may be null.
  void frame(Surface* surface);
  // Another frame is needed though nothing was touched: it flies, or parts of the file are still coming.
  bool moves() const;
  // Seconds from the last frame until the mouse has rested long enough to be told what is under it, which
  // takes a frame, too; 0: it has, or is told nothing.
  double rest_left() const { return rest_left_; }
  // What was chosen is still being read by another thread.
  bool reads() const { return stories_.waits() || firsts_.waits() || copies_.waits(); }

  KeyQueue& keys() { return keys_; }
  const State& state() const { return state_; }
  State& state() { return state_; }
  const Story& story() const { return story_; }
  const std::vector<Row>& rows() const { return rows_; }
  const merged::Reader& reader() const { return reader_; }
  const Theme& theme() const { return theme_; }
  // Where things stood in the last frame; px of the window.
  const Panes& panes() const { return panes_; }
  TimeView time_view() const;
  RowPlacing placing() const;
  // Of each disc of the story, in the last frame.
  const std::vector<Point>& disc_points() const { return disc_points_; }

  // What the user chose, and where he stands, in an earlier preview of this trace
  // (merged::Reader::is_preview). Who has touched nothing yet is shown what is to be seen first.
  void take_over(const App& earlier);
  // What is still to come of the trace, "" if nothing is; how much of that is done, 0..1.
  void set_coming(std::string text, float done = 0) {
    state_.coming = std::move(text);
    state_.coming_done = done;
  }
  // It will not come.
  void set_failed(const std::string& why) {
    state_.coming = "not all is here: " + why;
    state_.failed = true;
  }

  // Called by another thread when a part of the file that was asked for has come.
  void on_arrival(std::function<void()> wake) {
    stories_.on_arrival(wake);
    firsts_.on_arrival(wake);
    labels_.on_arrival(wake);
    details_.on_arrival(wake);
    copies_.on_arrival(wake);
    durations_.on_arrival(wake);
    reader_.on_arrival(std::move(wake));
  }

  // ---- what a user does
  // alone: without the ranks that it does not concern.
  void choose_finding(std::uint32_t finding, bool alone = false);
  // By id, slug or number from 1 on, or the slug of what follows from it; false if there is none.
  bool go_to(const std::string& id_or_slug);
  void choose_evidence(std::size_t evidence);
  void act(Action action);
  // With another trace; its page opens.
  void compare_with(Comparison comparison);
  void press(KeyPress key);
  // To the chosen hit of the search, and from there to the next (1) or previous (-1).
  void walk_hits(int step);
  void end_note();  // what was typed is kept
  void fly_to(TimeSpan span, float scroll);
  void fly_to_moment(std::uint32_t rank_row, std::int64_t t_ns);
  void show_first_failure();
  void show_whole_run();
  void show_stretch(TimeSpan span) { fly_to(limited(span, run()), state_.scroll); }
  void scale_by(float factor) { set_scale(state_.scale * factor); }
  std::function<void(const std::string&)> copy;                         // puts a text there; may be empty
  std::function<void(const std::vector<Bookmark>&)> bookmarks_changed;  // keeps them; may be empty

 private:
  TimeSpan run() const { return {0, std::max<std::int64_t>(reader_.job().duration_ns, 1)}; }
  void begin_story();
  bool take_story();
  void take_what_came();
  void frame_story();
  void next_finding(int step);
  void next_event(int step);
  void turn_row_under_mouse(bool pin);
  void toggle_only_concerned();
  void turn_page(OverPage page);
  void clear();
  void frame_chosen();
  void set_scale(float scale);
  void set_theme(ThemeName theme);
  void rebuild_rows();
  Density density() const;
  void draw_rows_below(LaneFrame& lanes);
  void filter_rows();
  float scroll_to_story() const;
  std::pair<float, float> story_extent(bool all) const;  // px at scale 1
  float rows_height() const;                             // px at scale 1, of the lanes pane
  void add_bookmark();
  std::optional<std::size_t> bookmark_near(std::int64_t t_ns) const;
  void note_nearest();
  void begin_note(std::size_t bookmark);
  void next_bookmark();

  void advance_flight();
  void take_input(const Mouse& mouse);
  void take_mouse(const Mouse& mouse);
  void drag_splitters(const Mouse& mouse);
  void lanes_mouse(const Mouse& mouse);
  void list_mouse(const Mouse& mouse);
  void scroll_hits(float wheel);
  void page_mouse(const Mouse& mouse);
  void click(const Mouse& mouse);
  bool choose_under(Point at);
  merged::EventPlace event_under(Point at) const;

  void draw(Canvas& canvas, const Mouse& mouse);
  void draw_lanes(LaneFrame& lanes);
  const merged::Event& chosen_event();
  void draw_row(LaneFrame& lanes, std::size_t row, const Box& box);
  void draw_measure(Canvas& canvas);
  void draw_over_lanes(Canvas& canvas, const Mouse& mouse);
  void draw_tooltip(Canvas& canvas, const Mouse& mouse);
  void draw_text_fields(Canvas& canvas);
  void draw_note_field(Canvas& canvas);
  void draw_row_filter(Canvas& canvas);
  void draw_bookmark(PanelFrame& panel, std::size_t index);
  const CallDurations* chosen_durations();
  void run_search();
  void find_calls();
  void find_files();
  void go_to_hit(const SearchHit& hit);
  void go_to_sought();
  void begin_copy();
  void end_copy();
  std::string finding_as_text() const;
  void draw_page(PanelFrame& panel);
  Box page_box() const;
  std::string cursor_text(const Mouse& mouse) const;

  merged::Reader reader_;
  Loader<std::uint32_t, Story> stories_;  // by finding
  Loader<merged::EventPlace, merged::Detail> details_, copies_;
  Loader<DurationsKey, CallDurations> durations_;
  Loader<SoughtOnRank, merged::EventPlace> firsts_;  // to be gone to
  AppOptions options_;
  Theme theme_;
  bool wants_fonts_ = true;
  bool first_frame_ = true;
  float list_needs_ = std::numeric_limits<float>::max();  // px, as of the last frame
  float rows_for_height_ = 0;                             // px of the lanes that the rows were made for
  bool complete_ = false;                                 // the last frame left nothing out
  bool touched_ = false;                                  // by a key or the mouse
  State state_;
  Story story_;
  TimeSpan framed_;  // what was flown to when it was chosen
  std::optional<Comparison> comparison_;
  std::vector<Row> rows_;
  RowLayout layout_;
  Panes panes_;
  Labels labels_;
  KeyQueue keys_;
  std::vector<Hit> hits_;
  std::vector<Point> disc_points_;
  Box search_page_;  // in the last frame, empty if it is closed
  std::pair<merged::EventPlace, merged::Event> chosen_event_{merged::kNoEvent, {}};
  bool dragging_list_ = false, dragging_drawer_ = false;
  Point last_mouse_{};
  double hovered_since_ = 0;
  double now_ = 0, rest_left_ = 0;
  Point hover_at_{};
};

}  // namespace ddpscope::viewer
