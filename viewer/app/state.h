// What the user sees and chose: all that a frame is drawn from, besides the trace.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/app/panes.h"
#include "viewer/lanes/row_list.h"
#include "viewer/theme/palette.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

constexpr std::size_t kNoneChosen = static_cast<std::size_t>(-1);

// A hit of a search: a finding, a rank, a call by name on a rank, a file on a rank that accesses it.
struct SearchHit {
  enum class What : std::uint8_t { kFinding, kRank, kCall, kFile } what;
  std::uint32_t index = 0;     // finding, name, rank row
  std::uint32_t rank_row = 0;  // of a call or file
  std::uint64_t count = 0;     // of calls or accesses on that rank
  std::string text;
  std::string path{};  // of a file
};

// A field of text gets the keyboard a frame or two after it was asked for: what is typed meanwhile is kept.
struct TextFocus {
  enum class Stage : std::uint8_t { kNone, kAsked, kComing, kHas } stage = Stage::kNone;
  std::vector<std::uint32_t> typed;  // characters, for the field in the frame after it has the keyboard

  void ask() { stage = Stage::kAsked; }
  bool waits() const { return stage != Stage::kNone; }
};

struct Search {
  bool open = false;
  TextFocus focus;
  std::string text;
  std::string searched;  // for which `hits` are
  std::vector<SearchHit> hits;
  std::size_t chosen = 0;
  bool walked = false;  // the chosen one has been gone to
  std::size_t names_left_out = 0;
  // In the last frame, of `hits`.
  std::size_t first_shown = 0, shown = 1;

  void scroll_to_chosen() {
    first_shown = std::clamp(first_shown, chosen + 1 - std::min(chosen + 1, shown), chosen);
  }
};

// Rows of the ranks that a text asks for (row_filter.h), and no others.
struct RowFilter {
  bool open = false;
  TextFocus focus;
  std::string text;
  std::string applied;   // of which the rows are
  bool in_vain = false;  // no rank matches: all are shown
};

struct Bookmark {
  std::int64_t t_ns = 0;
  std::int32_t rank = -1;
  std::string note;
};

// What lies over the lanes: the finding's page, or what differs from another trace.
enum class OverPage : std::uint8_t { kNone, kExplain, kCompare };

struct State {
  std::uint32_t finding = merged::kNone;
  std::size_t evidence = kNoneChosen;           // of the chosen finding, from 0
  merged::EventPlace event = merged::kNoEvent;  // chosen by a click

  TimeSpan shown, flight_from, flight_to;
  double flight_done = 1;                                          // 0..1
  float scroll = 0, flight_scroll_from = 0, flight_scroll_to = 0;  // px at scale 1

  RowChoice rows;
  bool only_concerned = false;
  RowFilter row_filter;
  PaneSizes sizes;
  float list_scroll = 0;  // px
  std::string filter;
  std::optional<TimeSpan> measured;
  bool help = false;
  OverPage page = OverPage::kNone;
  float page_scroll = 0;  // px
  Search search;
  std::vector<Bookmark> bookmarks;
  std::optional<std::size_t> noting;  // the bookmark whose note is typed
  TextFocus note_focus;
  std::string coming;     // "writing time lines, 12 of 64"
  float coming_done = 0;  // of that, 0..1
  bool failed = false;    // it will not come, and why stands there

  float scale = 1;
  ThemeName theme = ThemeName::kDark;
  bool reduced_motion = false;

  bool awaits_text() const { return search.focus.waits() || row_filter.focus.waits() || note_focus.waits(); }
  bool flies() const { return flight_done < 1; }
};

}  // namespace ddpscope::viewer
