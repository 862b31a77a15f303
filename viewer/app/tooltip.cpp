// What is known of the thing under the mouse.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/app/app.h"
#include "viewer/timeline/collective_members.h"
#include "viewer/timeline/collective_walk.h"

namespace ddpscope::viewer {
namespace {

constexpr double kRestSeconds = 0.15;
constexpr std::size_t kMostFields = 10, kMostFrames = 5, kMostMembers = 16;

struct TipLine {
  Face face;
  Colour colour;
  std::string text;
};

void add_event(const Palette& p, const merged::Reader& reader, const merged::Detail& detail,
               std::vector<TipLine>& lines) {
  const merged::Event& event = detail.event;
  lines.push_back({Face::kStrong, p.text, detail.call});
  std::string lasted = event.open ? "never returned" : duration_text(event.end_ns - event.begin_ns);
  lines.push_back(
      {Face::kMonoSmall, p.text_mid, fmt::format("{}  {}", time_text(event.begin_ns, 100), lasted)});
  lines.push_back(
      {Face::kMonoSmall, p.text_low, fmt::format("{}, thread {}", detail.process, detail.thread)});
  for (const merged::CollectiveRef& each : detail.collectives)
    lines.push_back({Face::kSmall, p.collective,
                     fmt::format("{}{}", each.count > 0 ? numbers_of(each) + " of " : "on ",
                                 reader.communicators()[each.communicator].name)});
  if (!detail.file.empty()) lines.push_back({Face::kMonoSmall, p.text, detail.file});
  if (detail.bytes)
    lines.push_back(
        {Face::kSmall, p.text_mid, fmt::format("{} {}", detail.bytes, plural(detail.bytes, "byte"))});
  if (detail.calls > 1)
    lines.push_back({Face::kSmall, p.text_mid, fmt::format("{} calls in one record", detail.calls)});
  for (std::size_t i = 0; i < std::min(detail.fields.size(), kMostFields); ++i)
    lines.push_back({Face::kMonoSmall, p.text_low, detail.fields[i].first + " = " + detail.fields[i].second});
  for (std::size_t i = 0; i < std::min(detail.stack.size(), kMostFrames); ++i)
    lines.push_back({Face::kMonoSmall, findings::is_library_frame(detail.stack[i]) ? p.text_low : p.text,
                     detail.stack[i]});
}

void add_collective(const Palette& p, const merged::CommunicatorRow& communicator,
                    const merged::Collective& collective, const CollectiveShape& shape,
                    std::vector<TipLine>& lines) {
  CollectiveSummary summary = summary_of(communicator, collective, shape, kMostMembers);
  lines.push_back({Face::kStrong, p.text, std::move(summary.title)});
  for (std::string& text : summary.facts) lines.push_back({Face::kSmall, p.text_mid, std::move(text)});
  for (auto& [index, text] : summary.members)
    lines.push_back(
        {Face::kMonoSmall, shape.members[index].takes_part ? p.text_low : p.error, std::move(text)});
  if (summary.more) lines.push_back({Face::kSmall, p.text_low, fmt::format("+{} more", summary.more)});
}

void draw_lines(Canvas& canvas, Point at, const Box& window, const std::vector<TipLine>& lines) {
  const Palette& p = canvas.colours();
  float width = 0, height = canvas.px(16), most = canvas.px(620);
  for (const TipLine& line : lines) {
    width = std::max(width, std::min(canvas.text_width(line.face, line.text), most));
    height += canvas.line_height(line.face) + canvas.px(1);
  }
  width += canvas.px(24);
  float left = at.x + canvas.px(16), top = at.y + canvas.px(16);
  if (left + width > window.right) left = std::max(at.x - canvas.px(12) - width, window.left);
  if (top + height > window.bottom) top = std::max(at.y - canvas.px(12) - height, window.top);
  Box box{left, top, left + width, top + height};
  canvas.fill(box, p.raised, canvas.px(4));
  canvas.frame(box, p.strong_line, canvas.px(4));
  float y = top + canvas.px(8);
  for (const TipLine& line : lines) {
    float line_height = canvas.line_height(line.face);
    canvas.text_in(line.face, {left + canvas.px(12), y, left + width - canvas.px(10), y + line_height},
                   line.colour, line.text);
    y += line_height + canvas.px(1);
  }
}

}  // namespace

void App::draw_tooltip(Canvas& canvas, const Mouse& mouse) {
  if (std::hypot(mouse.at.x - hover_at_.x, mouse.at.y - hover_at_.y) > 1) {
    hover_at_ = mouse.at;
    hovered_since_ = now_;
  }
  rest_left_ = options_.unhurried ? 0 : std::max(hovered_since_ + kRestSeconds - now_, 0.0);
  if (rest_left_ > 0) return;
  if (mouse.holds(Button::kLeft) || mouse.holds(Button::kRight)) return;
  const Palette& p = canvas.colours();
  Box window{0, panes_.top.bottom, panes_.top.right, panes_.status.bottom};
  std::vector<TipLine> lines;
  float y = (mouse.at.y - panes_.lanes.top) / state_.scale + state_.scroll;
  std::size_t row = layout_.at(y);
  TimeView view = time_view();
  if (row < rows_.size() && rows_[row].kind == RowKind::kCommunicator) {
    TimeView narrow = view;  // the collectives under the mouse alone
    narrow.shown = {view.t_of(mouse.at.x - 2), view.t_of(mouse.at.x + 2)};
    narrow.width = 4;
    WalkBudget budget = WalkBudget::of(std::chrono::microseconds(1000));
    auto found = walk_collectives(reader_, rows_[row].index, narrow, budget);
    // Several may have been issued by then; that one is meant whose shape is under the mouse.
    auto under = std::find_if(found.whole.begin(), found.whole.end(), [&](const WholeCollective& whole) {
      return narrow.shown.meets({whole.shape.first_ns, whole.shape.end_ns});
    });
    if (under != found.whole.end())
      add_collective(p, reader_.communicators()[rows_[row].index], under->collective, under->shape, lines);
  } else if (merged::EventPlace place = event_under(mouse.at); place != merged::kNoEvent) {
    if (const merged::Detail* detail = details_.get(place, options_.unhurried))
      add_event(p, reader_, *detail, lines);
  }
  if (!lines.empty()) draw_lines(canvas, mouse.at, window, lines);
}

}  // namespace ddpscope::viewer
