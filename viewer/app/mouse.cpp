// What the mouse does: zooms at the cursor, pans, measures, moves splitters, chooses.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

constexpr double kWheelStep = 0.8;
constexpr float kScrollStep = 60;  // px at scale 1 a notch
constexpr float kHitsStep = 3;     // hits of a search a notch
constexpr float kReachPx = 3;      // beside an event that is still meant

}  // namespace

void App::take_input(const Mouse& mouse) {
  touched_ = touched_ || !keys_.empty() || mouse.wheel != 0 || mouse.holds(Button::kLeft);
  while (!keys_.empty()) press(keys_.take());
  take_mouse(mouse);
  last_mouse_ = mouse.at;
}

void App::take_mouse(const Mouse& mouse) {
  if (state_.help) {
    if (mouse.clicks(Button::kLeft)) state_.help = false;
    return;
  }
  if (state_.page != OverPage::kNone && page_box().contains(mouse.at)) return page_mouse(mouse);
  if (mouse.wheel != 0 && search_page_.contains(mouse.at)) return scroll_hits(mouse.wheel);
  drag_splitters(mouse);
  if (dragging_list_ || dragging_drawer_) return;
  lanes_mouse(mouse);
  list_mouse(mouse);
  if (mouse.clicks(Button::kLeft)) click(mouse);
}

// Only what lies on the page is clicked, and what is chosen there is then seen.
void App::page_mouse(const Mouse& mouse) {
  state_.page_scroll = std::max(0.0f, state_.page_scroll - mouse.wheel * kScrollStep * state_.scale);
  if (!mouse.clicks(Button::kLeft)) return;
  for (auto hit = hits_.rbegin(); hit != hits_.rend(); ++hit) {
    if (!hit->on_page || !hit->box.contains(mouse.at)) continue;
    state_.page = OverPage::kNone;
    return act(hit->action);
  }
}

void App::drag_splitters(const Mouse& mouse) {
  if (mouse.presses(Button::kLeft)) {
    dragging_list_ = panes_.list_splitter.contains(mouse.at);
    dragging_drawer_ = state_.sizes.drawer && panes_.drawer_splitter.contains(mouse.at);
  }
  if (!mouse.holds(Button::kLeft)) dragging_list_ = dragging_drawer_ = false;
  if (dragging_list_) state_.sizes.list_width = mouse.at.x / state_.scale;
  if (dragging_drawer_) state_.sizes.drawer_height = (panes_.status.top - mouse.at.y) / state_.scale;
  PaneSizes sizes = limited(state_.sizes, panes_.status.bottom, state_.scale);
  state_.sizes.list_width = sizes.list_width;
  if (state_.sizes.drawer_height) state_.sizes.drawer_height = sizes.drawer_height;
  if (dragging_list_ || dragging_drawer_)
    ImGui::SetMouseCursor(dragging_list_ ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
}

void App::lanes_mouse(const Mouse& mouse) {
  TimeView view = time_view();
  Box time_axis{panes_.plot_left, panes_.ruler.top, panes_.plot_right, panes_.legend.top};
  Box gutter{panes_.lanes.left, panes_.lanes.top, panes_.plot_left, panes_.lanes.bottom};
  bool over_time = time_axis.contains(mouse.at), over_map = panes_.plot_of(panes_.minimap).contains(mouse.at);
  auto look = [&](TimeSpan span) { state_.flight_done = 1, state_.shown = span; };
  if (mouse.wheel != 0 && gutter.contains(mouse.at)) {
    state_.flight_done = 1;
    state_.scroll -= mouse.wheel * kScrollStep;
    state_.scroll = std::clamp(state_.scroll, 0.0f, std::max(0.0f, layout_.height() - rows_height()));
  } else if (mouse.wheel != 0 && over_time) {
    double step = mouse.ctrl ? std::sqrt(kWheelStep) : mouse.shift ? std::pow(kWheelStep, 3) : kWheelStep;
    look(zoomed(view, std::pow(step, mouse.wheel), mouse.at.x, run()));
  }
  bool from_time = time_axis.contains(mouse.press_at[1]);
  if (mouse.holds(Button::kRight) && from_time) look(panned(view, last_mouse_.x - mouse.at.x, run()));
  for (Button button : {Button::kLeft, Button::kMiddle}) {
    Point from = mouse.press_at[static_cast<int>(button)];
    if (!time_axis.contains(from) || (!mouse.holds(button) && !mouse.releases(button)) ||
        !mouse.drags(button))
      continue;
    TimeSpan span{view.t_of(std::min(from.x, mouse.at.x)), view.t_of(std::max(from.x, mouse.at.x))};
    state_.measured = span;
    if (button == Button::kMiddle && mouse.releases(button)) {
      state_.measured.reset();
      fly_to(limited(span, run()), state_.scroll);
    }
  }
  bool holds_map = mouse.holds(Button::kLeft) && panes_.plot_of(panes_.minimap).contains(mouse.press_at[0]);
  bool on_glyph = mouse.press_at[0].y < panes_.minimap.top + 18 * state_.scale;
  if ((over_map || holds_map) && holds_map && !on_glyph) {
    TimeView whole{run(), panes_.plot_left, panes_.plot_right - panes_.plot_left};
    std::int64_t middle = whole.t_of(mouse.at.x), half = state_.shown.length() / 2;
    look(limited({middle - half, middle - half + state_.shown.length()}, run()));
  }
}

void App::list_mouse(const Mouse& mouse) {
  if (mouse.wheel != 0 && panes_.list.contains(mouse.at))
    state_.list_scroll = std::max(0.0f, state_.list_scroll - mouse.wheel * kScrollStep * state_.scale);
}

void App::scroll_hits(float wheel) {
  Search& search = state_.search;
  float first = static_cast<float>(search.first_shown) - wheel * kHitsStep;
  float most = static_cast<float>(search.hits.size() - std::min(search.shown, search.hits.size()));
  search.first_shown = static_cast<std::size_t>(std::clamp(first, 0.0f, most));
}

void App::click(const Mouse& mouse) {
  for (auto hit = hits_.rbegin(); hit != hits_.rend(); ++hit)
    if (hit->box.contains(mouse.at)) return act(hit->action);
  if (panes_.lanes.contains(mouse.at)) {
    if (mouse.at.x < panes_.plot_left) return turn_row_under_mouse(false);
    if (!choose_under(mouse.at)) state_.event = merged::kNoEvent;
  }
}

bool App::choose_under(Point at) {
  float reach = disc_radius(Canvas(*ImGui::GetBackgroundDrawList(), theme_));
  for (std::size_t i = 0; i < disc_points_.size(); ++i)
    if (std::hypot(disc_points_[i].x - at.x, disc_points_[i].y - at.y) <= reach) {
      choose_evidence(i);
      return true;
    }
  state_.event = event_under(at);
  return state_.event != merged::kNoEvent;
}

merged::EventPlace App::event_under(Point at) const {
  TimeView view = time_view();
  if (!panes_.lanes.contains(at) || at.x < view.left || at.x > view.right()) return merged::kNoEvent;
  float y = (at.y - panes_.lanes.top) / state_.scale + state_.scroll;
  std::size_t row = layout_.at(y);
  if (row >= rows_.size()) return merged::kNoEvent;
  auto slack = static_cast<std::int64_t>(view.ns_per_px() * kReachPx);
  for (const RowPart& part : rows_[row].parts) {
    float top = layout_.box(row).top + part.top;
    if (y < top || y >= top + part.height) continue;
    merged::EventPlace best = merged::kNoEvent;
    for (std::uint32_t track : part.tracks)  // the last is drawn on top
      if (merged::EventPlace found = event_at(reader_, track, view.t_of(at.x), slack);
          found != merged::kNoEvent)
        best = found;
    return best;
  }
  return merged::kNoEvent;
}

}  // namespace ddpscope::viewer
