// The top bar: which trace this is, how large, and what is missing of it.
#include <fmt/format.h>

#include "collector/model/job.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/timeline/labels.h"

namespace ddpscope::viewer {
namespace {

struct Fact {
  std::string number, word;
  bool wrong = false;
};

std::vector<Fact> facts_of(const merged::Reader& reader) {
  const merged::JobFacts& job = reader.job();
  std::uint64_t missing = 0;
  for (const merged::RankRow& rank : reader.ranks()) missing += rank.missing;
  bool unaligned = job.clock_error_ns >= model::kUnaligned;
  std::string clock = unaligned ? "not aligned" : fmt::format("± {}", duration_text(job.clock_error_ns));
  return {{fmt::format("{}", job.ranks), plural(static_cast<std::uint64_t>(job.ranks), "rank")},
          {fmt::format("{}", reader.hosts().size()), plural(reader.hosts().size(), "host")},
          {duration_text(job.duration_ns), ""},
          {count_text(job.calls), plural(job.calls, "event")},
          {count_text(job.dropped), "dropped", job.dropped > 0},
          {fmt::format("{}", missing), plural(missing, "missing rank"), missing > 0},
          {clock, reader.hosts().size() == 1 ? "clock (one host)" : "clock", unaligned},
          {job.gpu_timing.empty() ? "none" : job.gpu_timing, "GPU times"}};
}

void draw_logo(PanelFrame& frame, float left, float middle) {
  const Palette& p = frame.colours();
  float line = frame.px(3), pitch = frame.px(5);
  for (int i = 0; i < 3; ++i) {
    float y = middle - frame.px(6.5f) + pitch * static_cast<float>(i);
    frame.canvas.fill({left, y, left + frame.px(i == 1 ? 6 : 9), y + line}, p.text);
    frame.canvas.fill({left + frame.px(i == 1 ? 12 : 11), y, left + frame.px(18), y + line},
                      i == 1 ? p.error : p.text);
  }
}

}  // namespace

void draw_top_bar(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.line({box.left, box.bottom - 1}, {box.right, box.bottom - 1}, p.line);
  draw_logo(frame, box.left + frame.px(14), box.middle_y());
  float x = box.left + frame.px(44);
  x += frame.canvas.text_in(Face::kStrong, {x, box.top, box.right, box.bottom}, p.text, "ddpscope") +
       frame.px(16);
  float facts = box.left + frame.px(420);
  std::string source(base_name(frame.reader.job().source));
  x += frame.canvas.text_in(Face::kMono,
                            {x, box.top, std::max(facts - frame.px(16), x + frame.px(60)), box.bottom},
                            p.text_mid, source);
  if (frame.reader.job().runs_on)
    x = draw_chip(frame.canvas, {x + frame.px(8), box.top + frame.px(11)}, frame.px(18), p.warning,
                  p.warning_ground, "still runs");
  if (float done = frame.state.coming_done; done > 0 && !frame.state.failed)
    frame.canvas.fill({box.left, box.bottom - frame.px(2), box.left + box.width() * done, box.bottom},
                      p.link);
  if (!frame.state.coming.empty())
    x = draw_chip(frame.canvas, {x + frame.px(8), box.top + frame.px(11)}, frame.px(18),
                  frame.state.failed ? p.error : p.link, p.raised, frame.state.coming);
  float buttons = box.right - frame.px(300);
  x = std::max(x + frame.px(24), facts);
  for (const Fact& fact : facts_of(frame.reader)) {
    float width = frame.canvas.text_width(Face::kMono, fact.number) +
                  frame.canvas.text_width(Face::kSmall, fact.word) + frame.px(30);
    if (x + width > buttons) break;
    Box room{x, box.top, buttons, box.bottom};
    x += frame.canvas.text_in(Face::kMono, room, fact.wrong ? p.error : p.text, fact.number) + frame.px(5);
    if (!fact.word.empty())
      x += frame.canvas.text_in(Face::kSmall, {x, box.top, buttons, box.bottom},
                                fact.wrong ? p.error : p.text_low, fact.word);
    x += frame.px(12);
    frame.canvas.line({x, box.middle_y() - frame.px(8)}, {x, box.middle_y() + frame.px(8)}, p.line);
    x += frame.px(12);
  }
  Box find{box.right - frame.px(292), box.top + frame.px(8), box.right - frame.px(84),
           box.bottom - frame.px(8)};
  frame.canvas.fill(find, p.window, frame.px(4));
  frame.canvas.frame(find, p.strong_line, frame.px(4));
  if (!frame.state.search.open) {
    frame.canvas.text_in(Face::kSmall,
                         {find.left + frame.px(8), find.top, find.right - frame.px(50), find.bottom},
                         p.text_low, "Find call, rank, finding …");
    frame.canvas.text_in_right(Face::kMonoSmall, {find.left, find.top, find.right - frame.px(8), find.bottom},
                               p.text_low, "Ctrl+F");
  }
  frame.on_click(find, ActionKind::kOpenSearch);
  Box keys{box.right - frame.px(74), find.top, box.right - frame.px(14), find.bottom};
  frame.canvas.fill(keys, frame.hovers(keys) ? p.selected : p.raised, frame.px(4));
  frame.canvas.frame(keys, p.strong_line, frame.px(4));
  frame.canvas.text_centred(Face::kSmall, keys, p.text_mid, "?  keys");
  frame.on_click(keys, ActionKind::kShowKeys);
}

void draw_status_bar(PanelFrame& frame, const Box& box, const std::string& cursor) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.line({box.left, box.top}, {box.right, box.top}, p.line);
  struct Hint {
    const char *key, *words;
  };
  float cursor_width = frame.canvas.text_width(Face::kMonoSmall, cursor) + frame.px(32);
  float x = box.left + frame.px(14), height = frame.px(16), top = box.middle_y() - height / 2;
  for (Hint hint : {Hint{"W S", "zoom"},
                    {"A D", "pan"},
                    {"drag", "measure"},
                    {"N", "next finding"},
                    {"1–9", "go to evidence"},
                    {"F", "frame"},
                    {"R", "only these ranks"},
                    {"Q", "drawer"},
                    {"?", "keys"},
                    {"Esc", "clear"}}) {
    float words = frame.canvas.text_width(Face::kSmall, hint.words);
    if (x + words + frame.px(60) > box.right - cursor_width) break;
    x = draw_key(frame.canvas, {x, top}, height, hint.key) + frame.px(6);
    frame.canvas.text_in(Face::kSmall, {x, box.top, x + words + 4, box.bottom}, p.text_low, hint.words);
    x += words + frame.px(16);
  }
  frame.canvas.text_in_right(Face::kMonoSmall, {box.left, box.top, box.right - frame.px(16), box.bottom},
                             p.text_mid, cursor);
}

}  // namespace ddpscope::viewer
