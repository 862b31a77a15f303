// What keys and clicks on panels do.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

constexpr double kZoomStep = 0.8;
constexpr float kPanStep = 0.12f;  // of the plot

ThemeName next_theme(ThemeName theme) {
  return theme == ThemeName::kDark    ? ThemeName::kLight
         : theme == ThemeName::kLight ? ThemeName::kColorblind
                                      : ThemeName::kDark;
}

}  // namespace

void App::press(KeyPress press) {
  TimeView view = time_view();
  float at = std::clamp(last_mouse_.x, view.left, view.right());
  if (last_mouse_.x < view.left || last_mouse_.x > view.right()) at = view.left + view.width / 2;
  auto look = [&](TimeSpan span) { state_.flight_done = 1, state_.shown = span; };
  if (press.ctrl) {
    if (press.key == Key::kF || press.key == Key::kP) act({ActionKind::kOpenSearch, 0});
    if (press.key == Key::kC) begin_copy();
    if (press.key == Key::kPlus) set_scale(state_.scale * 1.1f);
    if (press.key == Key::kMinus) set_scale(state_.scale / 1.1f);
    if (press.key == Key::k0) set_scale(1);
    return;
  }
  if (state_.awaits_text() && press.key != Key::kEscape) return;
  if (press.key >= Key::k1 && press.key <= Key::k9)
    return choose_evidence(static_cast<std::size_t>(press.key) - '1');
  switch (press.key) {
    case Key::kN:
      return next_finding(press.shift ? -1 : 1);
    case Key::kW:
    case Key::kUp:
      return look(zoomed(view, kZoomStep, at, run()));
    case Key::kS:
    case Key::kDown:
      return look(zoomed(view, 1 / kZoomStep, at, run()));
    case Key::kA:
    case Key::kLeft:
      return look(panned(view, -view.width * kPanStep, run()));
    case Key::kD:
    case Key::kRight:
      return look(panned(view, view.width * kPanStep, run()));
    case Key::kHome:
      return show_whole_run();
    case Key::kF:
      return frame_chosen();
    case Key::kPeriod:
      return next_event(1);
    case Key::kComma:
      return next_event(-1);
    case Key::kR:
      return toggle_only_concerned();
    case Key::kL:
      return act({ActionKind::kFilterRows, 0});
    case Key::kP:
      return turn_row_under_mouse(true);
    case Key::kEnter:
      return turn_row_under_mouse(false);
    case Key::kQ:
      state_.sizes.drawer = !state_.sizes.drawer;
      return;
    case Key::kE:
      return act({ActionKind::kExplain, 0});
    case Key::kX:
      return act({ActionKind::kCompare, 0});
    case Key::kC:
      return begin_copy();
    case Key::kB:
      return note_nearest();
    case Key::kM:
      return press.shift ? next_bookmark() : add_bookmark();
    case Key::kT:
      return set_theme(next_theme(state_.theme));
    case Key::kQuestion:
    case Key::kF1:
      state_.help = !state_.help;
      return;
    case Key::kPageDown:
      state_.scroll += rows_height() * 0.8f;
      return rebuild_rows();
    case Key::kPageUp:
      state_.scroll -= rows_height() * 0.8f;
      return rebuild_rows();
    case Key::kEscape:
      return clear();
    default:
      return;
  }
}

void App::act(Action action) {
  auto turn = [&](std::set<std::uint32_t>& set) {
    auto index = static_cast<std::uint32_t>(action.index);
    if (!set.erase(index)) set.insert(index);
    rebuild_rows();
  };
  switch (action.kind) {
    case ActionKind::kChooseFinding:
      return choose_finding(static_cast<std::uint32_t>(action.index), true);
    case ActionKind::kChooseEvidence:
      return choose_evidence(action.index);
    case ActionKind::kShowFirstFailure:
      return show_first_failure();
    case ActionKind::kTurnRank:
      return turn(state_.rows.turned);
    case ActionKind::kTurnHost:
      return turn(state_.rows.turned_hosts);
    case ActionKind::kTurnCommunicator:
      return turn(state_.rows.turned_communicators);
    case ActionKind::kShowKeys:
      state_.help = !state_.help;
      return;
    case ActionKind::kOpenSearch:
      state_.search.open = true;
      state_.search.focus.ask();
      return;
    case ActionKind::kFilterRows:
      state_.row_filter.open = true;
      state_.row_filter.focus.ask();
      return;
    case ActionKind::kExplain:
      if (state_.finding < reader_.outcome().findings.size()) turn_page(OverPage::kExplain);
      return;
    case ActionKind::kCompare:
      if (comparison_) turn_page(OverPage::kCompare);
      return;
    case ActionKind::kCopy:
      return begin_copy();
    case ActionKind::kChooseHit: {
      if (action.index >= state_.search.hits.size()) return;
      state_.search.open = false;
      return go_to_hit(state_.search.hits[action.index]);
    }
    case ActionKind::kNote:
      return begin_note(action.index);
    case ActionKind::kSeek:
    case ActionKind::kNone:
      return;
  }
}

void App::go_to_hit(const SearchHit& hit) {
  if (hit.what == SearchHit::What::kFinding) return choose_finding(hit.index, true);
  if (std::size_t row = row_of_rank(rows_, reader_, hit.rank_row); row < rows_.size())
    fly_to(state_.shown, scrolled_to(state_.scroll, layout_.box(row).top, layout_.box(row).bottom(),
                                     rows_height(), layout_.height()));
  if (hit.what == SearchHit::What::kRank) return;
  firsts_.ask({hit.index, hit.rank_row, state_.shown.from_ns, hit.path});
  go_to_sought();
}

void App::go_to_sought() {
  const merged::EventPlace* found = firsts_.take(options_.unhurried);
  if (!found || *found == merged::kNoEvent) return;
  state_.event = *found;
  frame_chosen();
}

void App::turn_page(OverPage page) {
  state_.page = state_.page == page ? OverPage::kNone : page;
  state_.page_scroll = 0;
}

void App::compare_with(Comparison comparison) {
  comparison_ = std::move(comparison);
  state_.page = OverPage::kCompare;
}

void App::turn_row_under_mouse(bool pin) {
  float y = (last_mouse_.y - panes_.lanes.top) / state_.scale + state_.scroll;
  std::size_t at = layout_.at(y);
  if (at >= rows_.size()) return;
  const Row& row = rows_[at];
  if (row.kind == RowKind::kHost) return act({ActionKind::kTurnHost, row.index});
  if (row.kind == RowKind::kCommunicator) return act({ActionKind::kTurnCommunicator, row.index});
  if (row.kind != RowKind::kRank && row.kind != RowKind::kRankStrip) return;
  if (!pin) return act({ActionKind::kTurnRank, row.index});
  auto& pinned = state_.rows.pinned;
  auto found = std::find(pinned.begin(), pinned.end(), row.index);
  if (found != pinned.end())
    pinned.erase(found);
  else
    pinned.push_back(row.index);
  rebuild_rows();
}

// The chosen event or, if none is, the finding.
void App::begin_copy() {
  if (!copy) return;
  if (state_.event == merged::kNoEvent) return copy(finding_as_text());
  copies_.ask(state_.event);
  end_copy();
}

void App::end_copy() {
  if (const merged::Detail* detail = copies_.take(options_.unhurried))
    copy(merged::to_text(reader_, *detail));
}

std::string App::finding_as_text() const {
  if (state_.finding >= reader_.outcome().findings.size()) return "";
  const findings::Finding& finding = reader_.outcome().findings[state_.finding];
  std::string text = fmt::format("{}: {} ({})\n{}\n", findings::name_of(finding.severity), finding.slug,
                                 findings::name_of(finding.confidence), finding.title);
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    const findings::Evidence& evidence = finding.evidence[i];
    text += fmt::format("{}. {} rank {} {}: {}\n", i + 1, time_text(evidence.t_ns, 1000), evidence.rank,
                        evidence.call, evidence.detail);
    if (!evidence.file.empty()) text += "   " + evidence.file + "\n";
    for (const std::string& frame : evidence.stack) text += "   " + frame + "\n";
  }
  return text + "fix: " + finding.advice + "\n";
}

}  // namespace ddpscope::viewer
