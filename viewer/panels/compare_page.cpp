// What differs from the other trace, beside the lanes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

constexpr std::size_t kColumns = 10, kMostOfAPart = 30;
constexpr std::size_t kMostFindings = 8;

class Page {
 public:
  Page(PanelFrame& frame, const Box& box)
      : frame_(frame),
        box_(box),
        left_(box.left + frame.px(28)),
        right_(box.right - frame.px(28)),
        y_(box.top + frame.px(20) - frame.state.page_scroll) {}

  float draw(const Comparison& comparison) {
    float start = y_;
    const Palette& p = frame_.colours();
    text(Face::kTitle, p.text, "Compared with " + comparison.name);
    jobs(comparison);
    findings(comparison);
    heading("How long things take");
    columns({"", "calls there", "here", "p50 there", "here", "", "p95 there", "here", "p99 there", "here"},
            p.text_low, p.text_low, Face::kSmall);
    std::array<std::size_t, 2> told{};  // collectives and steps, calls
    for (const DurationChange& change : comparison.durations)
      if (told[change.what == DurationChange::What::kCall]++ < kMostOfAPart) duration(change);
    if (comparison.durations.empty())
      text(Face::kBody, p.text_low, "nothing that both traces have often enough");
    return y_ - start + frame_.px(40);
  }

 private:
  bool seen(float line) const { return y_ > box_.top - line && y_ < box_.bottom; }

  void text(Face face, Colour colour, const std::string& words) {
    float line = frame_.canvas.line_height(face) + frame_.px(3);
    if (seen(line)) frame_.canvas.text_in(face, {left_, y_, right_, y_ + line}, colour, words);
    y_ += line;
  }

  void heading(const std::string& words) {
    y_ += frame_.px(14);
    text(Face::kStrong, frame_.colours().text, words);
    y_ += frame_.px(4);
  }

  void jobs(const Comparison& comparison) {
    auto facts = [](const merged::JobFacts& job) {
      return fmt::format("{} {}, {}, {} {}{}", job.ranks,
                         plural(static_cast<std::uint64_t>(job.ranks), "rank"),
                         duration_text(job.duration_ns), count_text(job.calls), plural(job.calls, "event"),
                         job.dropped ? fmt::format(", {} dropped", count_text(job.dropped)) : "");
    };
    text(Face::kBody, frame_.colours().text_mid, "here   " + facts(frame_.reader.job()));
    text(Face::kBody, frame_.colours().text_mid, "there  " + facts(comparison.other));
  }

  void findings(const Comparison& comparison) {
    const auto& own = frame_.reader.outcome().findings;
    std::size_t fresh = comparison.new_findings();
    heading(fmt::format("Findings: {} new, {} gone, {} in both", fresh, comparison.gone.size(),
                        own.size() - fresh));
    std::size_t told = 0;
    for (std::uint32_t i = 0; i < own.size() && told < kMostFindings; ++i)
      if (comparison.is_new[i]) {
        Box line = finding(own[i].severity, own[i].confidence, "new", own[i].slug, own[i].title);
        frame_.on_click(line, ActionKind::kChooseFinding, i, true);
        ++told;
      }
    if (fresh > told)
      text(Face::kSmall, frame_.colours().text_low, fmt::format("and {} more that are new", fresh - told));
    told = 0;
    for (const GoneFinding& gone : comparison.gone)
      if (told++ < kMostFindings) finding(gone.severity, gone.confidence, "gone", gone.slug, gone.title);
    if (comparison.gone.size() > kMostFindings)
      text(Face::kSmall, frame_.colours().text_low,
           fmt::format("and {} more that are gone", comparison.gone.size() - kMostFindings));
  }

  Box finding(Severity severity, Confidence confidence, const char* state, const std::string& slug,
              const std::string& title) {
    const Palette& p = frame_.colours();
    float line = frame_.canvas.line_height(Face::kBody) + frame_.px(5);
    Box own{left_, y_, right_, y_ + line};
    bool gone = state[0] == 'g';
    if (seen(line)) {
      draw_severity(frame_.canvas, {left_ + frame_.px(8), own.middle_y()}, frame_.px(11), severity,
                    confidence);
      frame_.canvas.text_in(Face::kMonoSmall, {left_ + frame_.px(24), own.top, right_, own.bottom},
                            gone ? p.good : colour_of(p, severity), state);
      frame_.canvas.text_in(Face::kMonoSmall,
                            {left_ + frame_.px(64), own.top, left_ + frame_.px(270), own.bottom}, p.text_mid,
                            slug);
      frame_.canvas.text_in(Face::kBody, {left_ + frame_.px(280), own.top, right_, own.bottom},
                            gone ? p.text_low : p.text, in_short(title));
    }
    y_ += line;
    return own;
  }

  // The first column is a name, the next two say how often; where they do not, it has their room.
  void columns(const std::array<std::string, kColumns>& words, Colour counts, Colour colour, Face face) {
    float line = frame_.canvas.line_height(Face::kBody) + frame_.px(5);
    if (seen(line)) {
      float column = std::min(frame_.px(82), (right_ - left_) * 0.08f),
            first = right_ - column * (kColumns - 1);
      float name_right = first + (words[1].empty() && words[2].empty() ? 2 * column : 0) - frame_.px(8);
      frame_.canvas.text_in(Face::kBody, {left_, y_, name_right, y_ + line}, colour, words[0]);
      for (std::size_t i = 1; i < words.size(); ++i) {
        float right = first + column * static_cast<float>(i);
        frame_.canvas.text_in_right(face, {right - column, y_, right, y_ + line}, i < 3 ? counts : colour,
                                    words[i]);
      }
    }
    y_ += line;
  }

  void duration(const DurationChange& change) {
    const Palette& p = frame_.colours();
    using Of = DurationChange::Of;
    DurationChange::Verdict verdict = change.verdict();
    bool alike = verdict.of == Of::kAlike;
    std::string how = alike ? "alike"
                            : fmt::format("{}× {:.{}f}", verdict.of == Of::kTail ? "p99 " : "",
                                          verdict.factor, verdict.factor < 100 ? 2 : 0);
    constexpr const char* kWhat[] = {"", "wait in ", "transfer of ", ""};
    std::string name = kWhat[static_cast<std::size_t>(change.what)] + change.name;
    Colour colour = alike ? p.text_low : verdict.slower() ? p.warning : p.good;
    auto calls = [](const Spread& spread) { return spread.count ? count_text(spread.count) : ""; };
    const model::Percentiles<std::int64_t>&there = change.other.ns, &here = change.here.ns;
    columns({name, calls(change.other), calls(change.here), duration_text(there.p50), duration_text(here.p50),
             how, duration_text(there.p95), duration_text(here.p95), duration_text(there.p99),
             duration_text(here.p99)},
            change.here.count == change.other.count ? p.text_low : p.text, colour, Face::kMonoSmall);
  }

  PanelFrame& frame_;
  Box box_;
  float left_, right_, y_;
};

}  // namespace

float draw_compare_page(PanelFrame& frame, const Box& box, const Comparison& comparison) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.raised);
  frame.canvas.frame(box, p.strong_line);
  frame.canvas.push_clip(box.inset(1));
  float height = Page(frame, box).draw(comparison);
  frame.canvas.pop_clip();
  return height;
}

}  // namespace ddpscope::viewer
