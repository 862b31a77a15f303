// The evidence drawer: a finding's title, facts and cost, a numbered card for each piece of evidence, what
// could have ordered the two, and what to do.
#include <fmt/format.h>

#include <algorithm>

#include "collector/reports/phrases.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/story/cards.h"

namespace ddpscope::viewer {
namespace {

using findings::Evidence;
using findings::Finding;

constexpr float kDrawerPad = 12;

class Drawer {
 public:
  Drawer(PanelFrame& frame, const Box& box, const Finding& finding)
      : frame_(frame), box_(box), finding_(finding) {}

  void draw() {
    Box cards{box_.left + frame_.px(14), box_.top + frame_.px(66), box_.right - frame_.px(16),
              box_.bottom - frame_.px(8)};
    if (cards.height() < frame_.px(40)) return head(0);
    DrawerParts parts =
        share_drawer(cards.width() / frame_.px(1), finding_.evidence.size(), !finding_.order.empty());
    auto shown = cards_in_sight(finding_, parts.cards, frame_.state.evidence, frame_.reader.ranks().size());
    float x = cards.left;
    auto next = [&](float width) {
      Box box{x, cards.top, x + frame_.px(width), cards.bottom};
      x = box.right + frame_.px(kCardGap);
      return box;
    };
    for (std::size_t i : shown) card(i, next(parts.card));
    head(parts.list ? list_card(shown, next(parts.card)) : finding_.evidence.size() - shown.size());
    if (parts.order > 0) order_card(next(parts.order));
    fix_card({std::min(x, cards.right - frame_.px(parts.fix)), cards.top, cards.right, cards.bottom});
  }

 private:
  void head(std::size_t left_out) {
    const Palette& p = frame_.colours();
    float y = box_.top + frame_.px(10);
    Colour colour = colour_of(p, finding_.severity);
    draw_severity(frame_.canvas, {box_.left + frame_.px(22), y + frame_.px(11)}, frame_.px(15),
                  finding_.severity, finding_.confidence);
    std::size_t count = frame_.reader.outcome().findings.size();
    std::string which = fmt::format("finding {} of {}", frame_.state.finding + 1, count);
    if (left_out > 0) which = fmt::format("+{} more   {}", left_out, which);
    float right = box_.right - frame_.px(16);
    float which_width = frame_.canvas.text_width(Face::kMonoSmall, which);
    frame_.canvas.text_right(Face::kMonoSmall, {right, y + frame_.px(4)}, p.text_low, which);
    draw_title({box_.left + frame_.px(40), y, right - which_width - frame_.px(16), y + frame_.px(22)});
    float x = box_.left + frame_.px(40);
    y = box_.top + frame_.px(38);
    std::string cost = cost_sentence(finding_);
    float cost_width = frame_.canvas.text_width(Face::kStrong, cost);
    if (cost_width < (right - x) / 2 && !cost.empty()) {  // what it costs before the last of the chips
      frame_.canvas.text_right(Face::kStrong, {right, y}, colour, cost);
      right -= cost_width;
    }
    auto chip = [&](const std::string& text_of_chip, Colour text, Colour ground) {
      if (text_of_chip.empty() ||
          x + frame_.canvas.text_width(Face::kSmall, text_of_chip) + frame_.px(20) > right)
        return;
      x = draw_chip(frame_.canvas, {x, y}, frame_.px(18), text, ground, text_of_chip) + frame_.px(6);
    };
    chip(findings::name_of(finding_.severity), colour, ground_of(p, finding_.severity));
    chip(findings::name_of(finding_.confidence), p.text_mid, p.selected);
    chip(ranks_text(finding_.ranks), p.text_mid, p.selected);
    if (finding_.count > 1) chip(fmt::format("{} times", finding_.count), p.text_mid, p.selected);
    if (!finding_.files.empty()) {
      std::string file = *finding_.files.begin();
      file = file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
      if (finding_.files.size() > 1) file += fmt::format(" and {} more", finding_.files.size() - 1);
      chip(file, p.text_mid, p.selected);
    }
    for (const std::string& slug : finding_.consequences) chip("→ " + slug, p.text_mid, p.selected);
    chip("id " + finding_.id, p.text_low, p.selected);
  }

  // In two smaller lines where one is too short.
  void draw_title(const Box& box) {
    const Palette& p = frame_.colours();
    std::string words = in_short(finding_.title);
    for (Face face : {Face::kTitle, Face::kStrong})
      if (frame_.canvas.text_width(face, words) <= box.width()) {
        frame_.canvas.text_in(face, box, p.text, words);
        return;
      }
    float line = frame_.canvas.line_height(Face::kStrong) + frame_.px(1), y = box.top - frame_.px(5);
    for (const std::string& part : wrapped(frame_.canvas, Face::kStrong, words, box.width(), 2))
      frame_.canvas.text(Face::kStrong, {box.left, y}, p.text, part), y += line;
  }

  Box begin_card(const Box& box, bool focused) {
    const Palette& p = frame_.colours();
    frame_.canvas.fill(box, p.raised, frame_.px(6));
    frame_.canvas.frame(box, focused ? p.focus : p.line, frame_.px(6), focused ? frame_.px(1.5f) : 1);
    return box.inset(frame_.px(kDrawerPad));
  }

  std::string time_of(std::int64_t t_ns) const {
    TimeSpan focus = frame_.story.focus;
    return time_text(t_ns, std::max<std::int64_t>(focus.length() / 500, 100));
  }

  void card(std::size_t i, const Box& box) {
    const Palette& p = frame_.colours();
    const Evidence& evidence = finding_.evidence[i];
    Box in = begin_card(box, i == frame_.state.evidence || frame_.hovers(box));
    frame_.on_click(box, ActionKind::kChooseEvidence, i);
    frame_.canvas.push_clip(box);
    float y = in.top - frame_.px(2);
    draw_disc(frame_.canvas, {in.left + frame_.px(8), y + frame_.px(9)}, i + 1, false);
    Box line{in.left + frame_.px(24), y, in.right, y + frame_.px(18)};
    line.right -= draw_rank(i, line) + frame_.px(8);
    // The disc, or the shape in the lanes, may stand where the device comes to it.
    const StoryDisc disc = i < frame_.story.discs.size() ? frame_.story.discs[i] : StoryDisc{};
    bool later = disc.device_ns != merged::kUnknown;
    frame_.canvas.text_in(Face::kMono, line, p.text, (later ? "issued " : "") + time_of(evidence.t_ns));
    y += frame_.px(23);
    if (later) {
      frame_.canvas.text_in(Face::kMonoSmall, {in.left, y - frame_.px(2), in.right, y + frame_.px(13)},
                            p.text_mid,
                            (disc.waits ? "waits until " : "on the device ") + time_of(disc.device_ns));
      y += frame_.px(17);
    }
    for (const std::string& words : wrapped(frame_.canvas, Face::kMono, call_text(evidence), in.width(), 2))
      frame_.canvas.text(Face::kMono, {in.left, y}, p.text, words),
          y += frame_.canvas.line_height(Face::kMono) + frame_.px(1);
    y += frame_.px(3);
    float frame_line = frame_.canvas.line_height(Face::kMonoSmall) + frame_.px(1);
    const auto& frames = evidence.stack;
    float room = in.bottom - y;
    auto stack_lines = std::min<std::size_t>(frames.size(), room > frame_.px(90)   ? 3
                                                            : room > frame_.px(60) ? 2
                                                                                   : 1);
    float stack_top = in.bottom - frame_line * static_cast<float>(stack_lines) + frame_.px(3);
    words_in({in.left, y, in.right, stack_top - frame_.px(8)}, in_short(evidence.detail), 1);
    if (stack_lines > 0)
      frame_.canvas.line({in.left, stack_top - frame_.px(6)}, {in.right, stack_top - frame_.px(6)}, p.line);
    // The program's own place is the last of them where libraries stand above it.
    auto own = static_cast<std::size_t>(
        std::find_if_not(frames.begin(), frames.end(),
                         [](const std::string& frame) { return findings::is_library_frame(frame); }) -
        frames.begin());
    std::size_t first_frame = own < frames.size() && own >= stack_lines ? own + 1 - stack_lines : 0;
    for (std::size_t k = first_frame; k < first_frame + stack_lines; ++k, stack_top += frame_line)
      frame_.canvas.text_in(Face::kMonoSmall, {in.left, stack_top, in.right, stack_top + frame_line},
                            findings::is_library_frame(frames[k]) ? p.text_low : p.text,
                            short_frame(frames[k], in.width()));
    frame_.canvas.pop_clip();
  }

  // A line or two for each piece of evidence that has no card; returns how many find no room.
  std::size_t list_card(const std::vector<std::size_t>& shown, const Box& box) {
    Box in = begin_card(box, false);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < finding_.evidence.size(); ++i)
      if (!std::binary_search(shown.begin(), shown.end(), i)) others.push_back(i);
    float one = frame_.px(18), two = frame_.px(33), y = in.top - frame_.px(4);
    bool short_lines = two * static_cast<float>(others.size()) > in.bottom - y + frame_.px(8);
    float height = short_lines ? one : two;
    std::size_t listed = 0;
    frame_.canvas.push_clip(box);
    for (; listed < others.size() && y + height <= in.bottom + frame_.px(8); ++listed, y += height)
      list_entry(others[listed], {in.left, y, in.right, y + height}, short_lines);
    frame_.canvas.pop_clip();
    return others.size() - listed;
  }

  void list_entry(std::size_t i, const Box& box, bool short_lines) {
    const Palette& p = frame_.colours();
    const Evidence& evidence = finding_.evidence[i];
    frame_.on_click(box, ActionKind::kChooseEvidence, i);
    float line = frame_.px(16);
    draw_disc(frame_.canvas, {box.left + frame_.px(8), box.top + frame_.px(8)}, i + 1, false);
    Box first{box.left + frame_.px(22), box.top, box.right, box.top + line};
    first.right -= draw_rank(i, first) + frame_.px(6);
    if (!short_lines) {
      frame_.canvas.text_in(Face::kMonoSmall, first, p.text, time_of(evidence.t_ns));
      first = {first.left, box.top + line - 1, box.right, box.top + 2 * line};
    }
    frame_.canvas.text_in(Face::kMonoSmall, first, p.text_mid, call_text(evidence));
  }

  // Whose evidence it is, at the line's right; returns how wide that is.
  float draw_rank(std::size_t i, const Box& line) {
    const Evidence& evidence = finding_.evidence[i];
    bool faulty = accuses(finding_, i, frame_.reader.ranks().size());
    std::string rank = evidence.rank >= 0 ? fmt::format("rank {}", evidence.rank) : evidence.process;
    return frame_.canvas.text_in_right(
        Face::kSmall, line,
        faulty ? colour_of(frame_.colours(), finding_.severity) : frame_.colours().text_low, rank);
  }

  // Smaller where they have no room. `between`: lines, px at scale 1.
  void words_in(const Box& box, const std::string& words, float between) {
    for (Face face : {Face::kBody, Face::kSmall}) {
      float line = frame_.canvas.line_height(face) + frame_.px(face == Face::kBody ? between : 1);
      auto most = static_cast<std::size_t>(std::max(0.0f, box.height() / line));
      bool all = wrapped(frame_.canvas, face, words, box.width(), most + 1).size() <= most;
      if (!all && face == Face::kBody) continue;
      float y = box.top;
      for (const std::string& part : wrapped(frame_.canvas, face, words, box.width(), most))
        frame_.canvas.text(face, {box.left, y}, frame_.colours().text_mid, part), y += line;
      return;
    }
  }

  static std::string call_text(const Evidence& evidence) {
    if (evidence.file.empty()) return evidence.call;
    std::size_t slash = evidence.file.rfind('/');
    return fmt::format("{}(\"{}\")", evidence.call,
                       slash == std::string::npos ? evidence.file : evidence.file.substr(slash + 1));
  }

  // "/home/me/train.py:88 ns::Class::method" is "train.py:88 Class::method", where that is too wide
  // "train.py:88 method".
  std::string short_frame(const std::string& frame, float width) const {
    std::size_t space = std::min(frame.find(' '), frame.size()), slash = frame.rfind('/', space);
    std::string place = frame.substr(slash == std::string::npos ? 0 : slash + 1,
                                     space - (slash == std::string::npos ? 0 : slash + 1));
    std::string function = frame.substr(space);
    std::size_t last = function.rfind("::"),
                before = last == std::string::npos || last == 0 ? last : function.rfind("::", last - 1);
    if (before != std::string::npos) function = " " + function.substr(before + 2);
    if (frame_.canvas.text_width(Face::kMonoSmall, place + function) <= width) return place + function;
    if (last = function.rfind("::"); last != std::string::npos) function = " " + function.substr(last + 2);
    return place + function;
  }

  void order_card(const Box& box) {
    Box in = begin_card(box, false);
    frame_.canvas.push_clip(box);
    draw_edges(frame_, in, finding_.order.front().looked_for);
    frame_.canvas.pop_clip();
  }

  void fix_card(const Box& box) {
    const Palette& p = frame_.colours();
    Box in = begin_card(box, false);
    frame_.canvas.fill({box.left, box.top + frame_.px(4), box.left + frame_.px(3), box.bottom - frame_.px(4)},
                       p.good);
    frame_.canvas.push_clip(box);
    frame_.canvas.text_in(Face::kStrong, {in.left, in.top - frame_.px(2), in.right, in.top + frame_.px(16)},
                          p.text, "Fix");
    // The page that explains the finding has all of it.
    std::string advice;
    for (const reports::AdvicePart& part : reports::advice_parts(finding_.advice)) advice += part.text;
    words_in({in.left, in.top + frame_.px(22), in.right, in.bottom - frame_.px(16)}, advice, 2);
    Box more{in.left, in.bottom - frame_.px(14), in.right, in.bottom + frame_.px(2)};
    frame_.canvas.text_in(Face::kSmall, more, p.link, "E   explain " + finding_.slug);
    frame_.on_click(more, ActionKind::kExplain);
    frame_.canvas.pop_clip();
  }

  PanelFrame& frame_;
  Box box_;
  const Finding& finding_;
};

}  // namespace

namespace {

std::vector<const findings::Coverage*> unjudged_entries(const merged::Reader& reader) {
  std::vector<const findings::Coverage*> entries;
  for (const findings::Coverage& entry : reader.outcome().coverage)
    if (!entry.unjudged.empty()) entries.push_back(&entry);
  return entries;
}

}  // namespace

void draw_drawer(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.line({box.left, box.top}, {box.right, box.top}, p.strong_line);
  const auto& all = frame.reader.outcome().findings;
  if (frame.state.finding < all.size()) return Drawer(frame, box, all[frame.state.finding]).draw();
  Box words{box.left + frame.px(16), box.top + frame.px(12), box.right - frame.px(16),
            box.top + frame.px(36)};
  auto unjudged = unjudged_entries(frame.reader);
  frame.canvas.text_in(Face::kBody, words, p.text_low,
                       !frame.reader.is_judged() ? unjudged_text(frame.state)
                       : !all.empty()            ? "N chooses a finding."
                       : unjudged.empty()        ? "Nothing was found."
                                                 : "Nothing was found among what could be judged.");
  if (!frame.reader.is_judged() || !all.empty()) return;
  float y = words.bottom, line = frame.canvas.line_height(Face::kSmall) + frame.px(3);
  for (const findings::Coverage* entry : unjudged)
    for (const std::string& part :
         wrapped(frame.canvas, Face::kSmall, coverage_text(*entry), words.width(), 2)) {
      if (y + line > box.bottom) return;
      frame.canvas.text(Face::kSmall, {words.left, y}, p.text_low, part), y += line;
    }
}

}  // namespace ddpscope::viewer
