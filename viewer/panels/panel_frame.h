// What a panel is given to draw itself, and where it says what a click on a part of it means.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/app/input.h"
#include "viewer/app/state.h"
#include "viewer/compare/call_durations.h"
#include "viewer/compare/comparison.h"
#include "viewer/draw/canvas.h"
#include "viewer/draw/marks.h"
#include "viewer/story/story.h"

namespace ddpscope::viewer {

enum class ActionKind : std::uint8_t {
  kNone,
  kChooseFinding,
  kChooseEvidence,
  kShowFirstFailure,
  kTurnRank,
  kTurnHost,
  kTurnCommunicator,
  kShowKeys,
  kOpenSearch,
  kFilterRows,
  kChooseHit,
  kNote,
  kSeek,
  kExplain,
  kCompare,
  kCopy,
};
struct Action {
  ActionKind kind = ActionKind::kNone;
  std::size_t index = 0;
};
struct Hit {
  Box box;
  Action action;
  bool on_page = false;  // OverPage
};

struct PanelFrame {
  Canvas& canvas;
  const merged::Reader& reader;
  const State& state;
  const Story& story;
  const Mouse& mouse;
  std::vector<Hit>& hits;
  const Comparison* comparison = nullptr;  // null: with nothing
  float window_bottom = 0;                 // px

  const Palette& colours() const { return canvas.colours(); }
  float px(float at_scale_one) const { return canvas.px(at_scale_one); }
  bool hovers(const Box& box) const { return box.contains(mouse.at); }
  void on_click(const Box& box, ActionKind kind, std::size_t index = 0, bool on_page = false) {
    hits.push_back({box, {kind, index}, on_page});
  }
};

void draw_top_bar(PanelFrame& frame, const Box& box);
// Returns the height of all entries.
float draw_findings_list(PanelFrame& frame, const Box& box);
float coverage_height(const Canvas& canvas, const merged::Reader& reader, float width);
void draw_coverage_box(PanelFrame& frame, const Box& box);
void draw_minimap(PanelFrame& frame, const Box& box, const Box& plot);
void draw_ruler(PanelFrame& frame, const Box& box, const TimeView& view);
void draw_flags(PanelFrame& frame, const Box& box, const TimeView& view);
// Left of the plot what a pane that has its time axis shows.
void draw_head(PanelFrame& frame, const Box& box, const Box& plot, Face face, const std::string& text);
// What the lanes can show of the chosen finding, wherever one looks: no row moves as the view does.
struct LegendEntry {
  std::string words;
  std::function<void(Canvas& canvas, const Box& swatch)> draw_swatch;
};
std::vector<LegendEntry> legend_entries(const merged::Reader& reader, const Story& story);
// Of all its lines.
float legend_height(Canvas& canvas, const Box& plot, const std::vector<LegendEntry>& entries);
void draw_legend(PanelFrame& frame, const Box& box, const Box& plot);
void draw_drawer(PanelFrame& frame, const Box& box);
// What could have ordered two accesses, in lines no wider than `width`. What most of it came to is told once.
struct EdgeList {
  struct Entry {
    std::vector<std::string> edge, found;  // lines; nothing of its own found: none
  };
  std::string common;  // that most came to; empty: no two came to the same
  float gap = 0;       // between entries, px at scale 1
  std::vector<Entry> entries;
};
EdgeList fit_edges(const Canvas& canvas, const std::vector<findings::LookedFor>& edges, float width,
                   float height);
// In a card's inside.
void draw_edges(PanelFrame& frame, const Box& in, const std::vector<findings::LookedFor>& edges);
void draw_status_bar(PanelFrame& frame, const Box& box, const std::string& cursor);
// Returns the height of all of it.
float draw_explain_page(PanelFrame& frame, const Box& box, std::string_view slug);
float draw_compare_page(PanelFrame& frame, const Box& box, const Comparison& comparison);
void draw_keys_page(PanelFrame& frame, const Box& window);
struct SearchPage {
  Box box;
  std::size_t shown = 0;  // hits
};
// `durations`: of the chosen hit, null where it is no call or they are not there yet.
SearchPage draw_search_hits(PanelFrame& frame, const Box& box, const CallDurations* durations);
Box search_box(const Canvas& canvas, const Panes& panes);

// Where the trace is not judged yet, or came to grief before it was.
inline const char* unjudged_text(const State& state) {
  return state.failed ? "Findings could not be looked for." : "Findings are being looked for.";
}
// "unjudged straggler: who of ranks 0 and 1 keeps the others waiting: ...": what is lost first; of more than
// three how many more.
std::string coverage_text(const findings::Coverage& entry);
// "train.py:88", the place that reports tell; "" if the title has it, or there is none.
std::string place_beside_title(const findings::Finding& finding);
// The findings that the filter lets through, in the list's order.
std::vector<std::uint32_t> listed_findings(const merged::Reader& reader, const std::string& filter);

}  // namespace ddpscope::viewer
