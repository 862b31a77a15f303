// One frame: input, then panes, lanes and what lies over them.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

constexpr auto kFrameBudget = std::chrono::microseconds(3000);

}  // namespace

void App::frame(Surface* surface) {
  ImGuiIO& io = ImGui::GetIO();
  now_ += io.DeltaTime;
  Canvas canvas(*ImGui::GetBackgroundDrawList(), theme_, surface);
  float list_width = theme_.px(limited(state_.sizes, io.DisplaySize.y, state_.scale).list_width);
  Panes with_legend = panes_of(io.DisplaySize.x, io.DisplaySize.y, state_.scale, state_.sizes, {});
  PaneNeeds needs{
      coverage_height(canvas, reader_, list_width), list_needs_,
      legend_height(canvas, with_legend.plot_of(with_legend.legend), legend_entries(reader_, story_))};
  panes_ = panes_of(io.DisplaySize.x, io.DisplaySize.y, state_.scale, state_.sizes, needs);
  if (panes_.lanes.height() != rows_for_height_) rebuild_rows();
  if (first_frame_ && story_.finding != merged::kNone)
    state_.scroll = scroll_to_story();  // the window's size is known
  first_frame_ = false;
  take_what_came();
  advance_flight();
  Mouse mouse = mouse_of(io);
  take_input(mouse);
  draw(canvas, mouse);
  draw_text_fields(canvas);
}

void App::draw(Canvas& canvas, const Mouse& mouse) {
  hits_.clear();
  PanelFrame panel{canvas, reader_, state_, story_, mouse, hits_, comparison_ ? &*comparison_ : nullptr};
  TimeView view = time_view();
  canvas.fill({0, 0, panes_.top.right, panes_.status.bottom}, canvas.colours().window);
  float list_height = draw_findings_list(panel, panes_.list);
  list_needs_ = list_height > 0 ? list_height : canvas.px(160);
  state_.list_scroll =
      std::clamp(state_.list_scroll, 0.0f, std::max(0.0f, list_height - panes_.list.height()));
  draw_coverage_box(panel, panes_.coverage);
  draw_minimap(panel, panes_.minimap, panes_.plot_of(panes_.minimap));
  draw_ruler(panel, panes_.ruler, view);
  draw_flags(panel, panes_.flags, view);

  WalkBudget budget = options_.unhurried ? WalkBudget::unlimited() : WalkBudget::of(kFrameBudget);
  LaneFrame lanes{canvas, reader_, view,  panes_.plot_of(panes_.lanes), panes_.lanes.left,
                  budget, labels_, story_};
  draw_lanes(lanes);
  complete_ = budget.complete();

  draw_measure(canvas);
  draw_legend(panel, panes_.legend, panes_.plot_of(panes_.legend));
  if (panes_.drawer.height() > 0) draw_drawer(panel, panes_.drawer);
  draw_status_bar(panel, panes_.status, cursor_text(mouse));
  draw_top_bar(panel, panes_.top);
  canvas.fill(panes_.list_splitter, canvas.colours().window);
  canvas.fill(panes_.drawer_splitter, canvas.colours().window);
  Canvas over(*ImGui::GetForegroundDrawList(), theme_, canvas.surface());
  draw_over_lanes(over, mouse);
}

void App::draw_lanes(LaneFrame& lanes) {
  const Palette& p = lanes.colours();
  lanes.canvas.fill(panes_.lanes, p.lane_odd);
  lanes.canvas.push_clip(panes_.lanes);
  RowLayout::Range seen = layout_.in_view(state_.scroll, state_.scroll + rows_height());
  RowPlacing placed = placing();
  for (std::size_t row = seen.first; row < seen.last; ++row)
    draw_row(lanes, row,
             {panes_.lanes.left, placed.row_box(row, lanes.plot).top, panes_.lanes.right,
              placed.row_box(row, lanes.plot).bottom});
  for (const Tick& tick : ruler_ticks(lanes.view, lanes.px(104)))
    if (tick.major)
      lanes.canvas.line({lanes.view.x_of(tick.t_ns), panes_.lanes.top},
                        {lanes.view.x_of(tick.t_ns), panes_.lanes.bottom}, with_alpha(p.strong_line, 0.28f));
  lanes.canvas.line({panes_.plot_left - 1, panes_.lanes.top}, {panes_.plot_left - 1, panes_.lanes.bottom},
                    p.strong_line);
  if (state_.event != merged::kNoEvent) {
    RowPlace place = place_of_track(rows_, state_.event.track);
    const merged::Event& event = chosen_event();
    if (place.row < rows_.size()) {
      Box part = placed.part_box(place, lanes.plot);
      float left = std::max(lanes.x_of(event.begin_ns), lanes.plot.left - 3),
            right = std::min(lanes.x_of(event.end_ns), lanes.plot.right + 3);
      lanes.canvas.frame({left - 1, part.top - 1, std::max(right, left + 3) + 1, part.bottom + 1}, p.focus, 0,
                         lanes.px(1.5f));
    }
  }
  draw_story_marks(lanes, placed, state_.evidence);
  disc_points_.clear();
  for (const StoryDisc& disc : story_.discs) disc_points_.push_back(disc_point(lanes, placed, disc));
  draw_rows_below(lanes);
  lanes.canvas.pop_clip();
}

// That there are more, where nothing else tells.
void App::draw_rows_below(LaneFrame& lanes) {
  const Palette& p = lanes.colours();
  float bottom = state_.scroll + rows_height();
  std::uint64_t below = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    bool is_rank = rows_[row].kind == RowKind::kRank || rows_[row].kind == RowKind::kRankStrip;
    below += is_rank && layout_.box(row).top + rows_[row].height / 2 > bottom;
  }
  if (below == 0) return;
  std::string words = fmt::format("{} more {} below", below, plural(below, "rank"));
  Box box{panes_.lanes.left, panes_.lanes.bottom - lanes.px(20), panes_.plot_left - 1, panes_.lanes.bottom};
  lanes.canvas.fill(box, p.raised);
  float x = box.left + lanes.px(16), y = box.middle_y();
  lanes.canvas.triangle({x - lanes.px(4), y - lanes.px(2.5f)}, {x + lanes.px(4), y - lanes.px(2.5f)},
                        {x, y + lanes.px(3.5f)}, p.link);
  lanes.canvas.text_in(Face::kSmall, {x + lanes.px(10), box.top, box.right, box.bottom}, p.link, words);
}

// Read once, not in each frame.
const merged::Event& App::chosen_event() {
  if (chosen_event_.first != state_.event) chosen_event_ = {state_.event, reader_.event(state_.event)};
  return chosen_event_.second;
}

void App::draw_row(LaneFrame& lanes, std::size_t index, const Box& box) {
  const Row& row = rows_[index];
  switch (row.kind) {
    case RowKind::kSummary:
      return draw_summary_row(lanes, box);
    case RowKind::kCommunicator:
      return draw_communicator_row(lanes, row, box);
    case RowKind::kStory:
      return draw_story_row(lanes, box);
    case RowKind::kHostsHeading:
      return draw_hosts_heading(lanes, box);
    case RowKind::kHost:
      return draw_host_row(lanes, row, box);
    case RowKind::kRankStrip:
      return draw_rank_strip(lanes, row, box);
    case RowKind::kRank:
      return draw_rank_row(lanes, row, box, index % 2 == 0);
    case RowKind::kSteps:
      return draw_steps_row(lanes, row, box);
  }
}

void App::draw_measure(Canvas& canvas) {
  if (!state_.measured) return;
  const Palette& p = canvas.colours();
  TimeView view = time_view();
  float left = std::max(view.x_of(state_.measured->from_ns), view.left),
        right = std::min(view.x_of(state_.measured->to_ns), view.right());
  if (right <= left) return;
  canvas.fill({left, panes_.ruler.top, right, panes_.lanes.bottom}, with_alpha(p.link, 0.14f));
  canvas.line({left, panes_.ruler.top}, {left, panes_.lanes.bottom}, p.link);
  canvas.line({right, panes_.ruler.top}, {right, panes_.lanes.bottom}, p.link);
  Label label{{(left + right) / 2, panes_.lanes.top + canvas.px(16)},
              p.link,
              false,
              {duration_text(state_.measured->length())}};
  draw_label(canvas, label, label_box(canvas, label, panes_.plot_of(panes_.lanes)));
}

void App::draw_over_lanes(Canvas& canvas, const Mouse& mouse) {
  Box lanes = panes_.plot_of(panes_.lanes);
  rest_left_ = 0;
  if (lanes.contains(mouse.at)) {
    canvas.line({mouse.at.x, panes_.ruler.top}, {mouse.at.x, panes_.lanes.bottom},
                with_alpha(canvas.colours().text, 0.35f));
    if (!state_.help && state_.page == OverPage::kNone) draw_tooltip(canvas, mouse);
  }
  PanelFrame panel{canvas,
                   reader_,
                   state_,
                   story_,
                   mouse,
                   hits_,
                   comparison_ ? &*comparison_ : nullptr,
                   panes_.status.bottom};
  for (std::size_t i = 0; i < state_.bookmarks.size(); ++i) draw_bookmark(panel, i);
  draw_page(panel);
  search_page_ = {};
  if (state_.search.open) {
    SearchPage page = draw_search_hits(panel, search_box(canvas, panes_), chosen_durations());
    search_page_ = page.box;
    state_.search.shown = page.shown;
  }
  if (state_.help) draw_keys_page(panel, {0, 0, panes_.top.right, panes_.status.bottom});
}

const CallDurations* App::chosen_durations() {
  const Search& search = state_.search;
  if (search.chosen >= search.hits.size()) return nullptr;
  const SearchHit& hit = search.hits[search.chosen];
  if (hit.what != SearchHit::What::kCall) return nullptr;
  return durations_.get({hit.index, hit.rank_row, state_.measured.value_or(kWholeRun)}, options_.unhurried);
}

void App::draw_bookmark(PanelFrame& panel, std::size_t index) {
  Canvas& canvas = panel.canvas;
  const Bookmark& mark = state_.bookmarks[index];
  TimeView view = time_view();
  float x = view.x_of(mark.t_ns);
  if (x < view.left || x > view.right()) return;
  canvas.triangle({x - canvas.px(4), panes_.ruler.top}, {x + canvas.px(4), panes_.ruler.top},
                  {x, panes_.ruler.top + canvas.px(8)}, canvas.colours().link);
  canvas.line({x, panes_.ruler.top}, {x, panes_.ruler.bottom}, canvas.colours().link);
  panel.on_click({x - canvas.px(5), panes_.ruler.top, x + canvas.px(5), panes_.ruler.bottom},
                 ActionKind::kNote, index);
  if (mark.note.empty() || state_.noting == index) return;
  std::string note = cut_to(canvas, Face::kSmall, mark.note, canvas.px(220));
  float width = canvas.text_width(Face::kSmall, note) + canvas.px(12);
  Box box{x, panes_.ruler.top + canvas.px(2), x + width, panes_.ruler.bottom - canvas.px(2)};
  canvas.fill(box, canvas.colours().raised, canvas.px(3));
  canvas.text_in(Face::kSmall, {x + canvas.px(6), box.top, box.right, box.bottom}, canvas.colours().text,
                 note);
}

void App::draw_page(PanelFrame& panel) {
  Box page = page_box();
  float height = 0;
  if (state_.page == OverPage::kExplain && state_.finding < reader_.outcome().findings.size())
    height = draw_explain_page(panel, page, reader_.outcome().findings[state_.finding].slug);
  if (state_.page == OverPage::kCompare && comparison_) height = draw_compare_page(panel, page, *comparison_);
  state_.page_scroll = std::clamp(state_.page_scroll, 0.0f, std::max(0.0f, height - page.height()));
}

Box App::page_box() const {
  float width = std::min(theme_.px(state_.page == OverPage::kCompare ? 1060 : 760), panes_.lanes.width());
  return {panes_.lanes.right - width, panes_.minimap.top, panes_.lanes.right, panes_.status.top};
}

std::string App::cursor_text(const Mouse& mouse) const {
  TimeView view = time_view();
  std::string text = fmt::format("window {}", duration_text(state_.shown.length()));
  Box lanes = panes_.plot_of(panes_.lanes);
  if (!lanes.contains(mouse.at)) return text;
  std::size_t row = layout_.at((mouse.at.y - panes_.lanes.top) / state_.scale + state_.scroll);
  std::string where;
  if (row < rows_.size() && (rows_[row].kind == RowKind::kRank || rows_[row].kind == RowKind::kRankStrip))
    where = fmt::format("rank {}   ", reader_.ranks()[rows_[row].index].rank);
  auto fine = static_cast<std::int64_t>(std::max(view.ns_per_px(), 1.0));
  return fmt::format("cursor {}   {}{}", time_text(view.t_of(mouse.at.x), fine), where, text);
}

}  // namespace ddpscope::viewer
