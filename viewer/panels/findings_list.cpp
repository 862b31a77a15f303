// The findings, worst first, each with what follows from it; under them what the trace cannot show.
#include <fmt/format.h>

#include <algorithm>

#include "collector/merged/find_text.h"
#include "collector/reports/code_location.h"
#include "collector/reports/report.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/story/cards.h"
#include "viewer/timeline/labels.h"

namespace ddpscope::viewer {
namespace {

using findings::Finding;

bool passes(const Finding& finding, const std::string& filter) {
  if (filter.empty()) return true;
  if (merged::contains_typed(finding.slug, filter) || merged::contains_typed(finding.title, filter))
    return true;
  if (merged::contains_typed(ranks_text(finding.ranks), filter)) return true;
  return std::any_of(finding.files.begin(), finding.files.end(),
                     [&](const std::string& file) { return merged::contains_typed(file, filter); });
}

std::string when_text(const Finding& finding, const merged::Reader& reader) {
  std::int64_t fine = std::max<std::int64_t>(reader.job().duration_ns / 100'000, 1000);
  std::string when = time_text(fault_ns(finding, reader.ranks().size()), fine);
  return finding.count > 1 ? fmt::format("from {}, {} times", when, finding.count) : when;
}

constexpr std::size_t kChosenLines = 10;  // of a title: all of it
constexpr std::size_t kFailureLines = 6;

class List {
 public:
  List(PanelFrame& frame, const Box& box) : frame_(frame), box_(box), y_(box.top - frame.state.list_scroll) {}

  float draw(const std::vector<std::uint32_t>& shown) {
    float start = y_;
    const std::string failure = failure_text(frame_.reader.outcome());
    if (!failure.empty()) draw_failure(failure);
    for (std::uint32_t index : shown) entry(index);
    return y_ - start;
  }

 private:
  // No finding: where to look first, whatever was found, and whether that explains it.
  static std::string failure_text(const findings::Outcome& outcome) {
    std::string text = reports::unexplained_failure_text(outcome);
    if (outcome.first_failure)
      text += (text.empty() ? "" : "; ") + reports::first_failure_text(*outcome.first_failure);
    return text;
  }

  void draw_failure(const std::string& text) {
    const Palette& p = frame_.colours();
    float left = box_.left + frame_.px(16), right = box_.right - frame_.px(14);
    auto lines = wrapped(frame_.canvas, Face::kSmall, text, right - left, kFailureLines);
    float line = frame_.canvas.line_height(Face::kSmall) + frame_.px(2);
    Box own{box_.left, y_, box_.right, y_ + line * static_cast<float>(lines.size()) + frame_.px(16)};
    frame_.canvas.fill(own, frame_.hovers(own) ? p.raised : p.error_ground);
    float y = own.top + frame_.px(8);
    for (const std::string& words : lines)
      frame_.canvas.text(Face::kSmall, {left, y}, p.text, words), y += line;
    frame_.on_click(own, ActionKind::kShowFirstFailure);
    y_ = own.bottom + frame_.px(1);
  }

  void entry(std::uint32_t index) {
    const Palette& p = frame_.colours();
    const Finding& finding = frame_.reader.outcome().findings[index];
    bool chosen = index == frame_.state.finding;
    float left = box_.left + frame_.px(38), right = box_.right - frame_.px(14);
    auto title =
        wrapped(frame_.canvas, Face::kBody, in_short(finding.title), right - left, chosen ? kChosenLines : 3);
    float line = frame_.canvas.line_height(Face::kBody) + frame_.px(1);
    float height = frame_.px(56) + line * static_cast<float>(title.size());
    Box own{box_.left, y_, box_.right, y_ + height};
    if (chosen || frame_.hovers(own)) frame_.canvas.fill(own, chosen ? p.selected : p.raised);
    if (chosen)
      frame_.canvas.fill({own.left, own.top, own.left + frame_.px(3), own.bottom},
                         colour_of(p, finding.severity));
    float y = own.top + frame_.px(10);
    draw_severity(frame_.canvas, {box_.left + frame_.px(24), y + frame_.px(8)}, frame_.px(12),
                  finding.severity, finding.confidence);
    std::string cost = cost_text(finding);
    float cost_width = frame_.canvas.text_width(Face::kMono, cost);
    frame_.canvas.text_right(Face::kMono, {right, y}, colour_of(p, finding.severity), cost);
    Box slug{left, y, right - cost_width - frame_.px(8), y + frame_.px(16)};
    if (frame_.comparison && frame_.comparison->is_new[index]) {
      slug.left += frame_.canvas.text_in(Face::kMono, slug, colour_of(p, finding.severity), "new");
      slug.left += frame_.px(8);
    }
    frame_.canvas.text_in(Face::kMono, slug, p.text_mid, finding.slug);
    y += frame_.px(19);
    for (const std::string& words : title)
      frame_.canvas.text(Face::kBody, {left, y}, p.text, words), y += line;
    std::string facts = fmt::format("{} · {} · {}", ranks_text(finding.ranks),
                                    when_text(finding, frame_.reader), findings::name_of(finding.confidence));
    if (std::string place = place_beside_title(finding); !place.empty()) facts += " · " + place;
    frame_.canvas.text_in(Face::kSmall, {left, y + frame_.px(2), right, y + frame_.px(18)}, p.text_low,
                          facts);
    frame_.on_click(own, ActionKind::kChooseFinding, index);
    y_ = own.bottom;
    for (const std::string& following : finding.consequences) consequence(following);
    frame_.canvas.line({box_.left + frame_.px(14), y_}, {right, y_}, p.line);
    y_ += frame_.px(1);
  }

  void consequence(const std::string& slug) {
    const Palette& p = frame_.colours();
    float x = box_.left + frame_.px(24), middle = y_ + frame_.px(12);
    frame_.canvas.line({x, y_}, {x, middle}, p.strong_line);
    frame_.canvas.line({x, middle}, {x + frame_.px(12), middle}, p.strong_line);
    frame_.canvas.text_in(Face::kMonoSmall,
                          {x + frame_.px(18), y_, box_.right - frame_.px(14), y_ + frame_.px(24)}, p.text_low,
                          "follows: " + slug);
    y_ += frame_.px(24);
  }

  PanelFrame& frame_;
  Box box_;
  float y_;
};

void draw_counts(PanelFrame& frame, const Box& head) {
  const Palette& p = frame.colours();
  frame.canvas.text_in(Face::kTitle,
                       {head.left + frame.px(16), head.top, head.right, head.top + frame.px(38)}, p.text,
                       "Findings");
  float x = head.right - frame.px(16);
  for (Severity severity : {Severity::kInfo, Severity::kWarning, Severity::kError}) {
    auto count = std::count_if(frame.reader.outcome().findings.begin(), frame.reader.outcome().findings.end(),
                               [&](const Finding& finding) { return finding.severity == severity; });
    std::string text = frame.reader.is_judged() ? fmt::format("{}", count) : "–";
    frame.canvas.text_right(Face::kMono, {x, head.top + frame.px(12)}, count ? p.text : p.text_low, text);
    x -= frame.canvas.text_width(Face::kMono, text) + frame.px(12);
    draw_severity(frame.canvas, {x, head.top + frame.px(20)}, frame.px(11), severity, Confidence::kCertain);
    x -= frame.px(20);
  }
}

void draw_nothing(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  const merged::JobFacts& job = frame.reader.job();
  std::vector<std::string> lines;
  if (!frame.reader.is_judged()) {
    lines = {unjudged_text(frame.state)};
  } else if (!frame.state.filter.empty()) {
    lines = {"nothing matches; Esc clears"};
  } else {
    std::string looked = fmt::format("No findings in {} {} and {} {}. What could not be judged stands below.",
                                     job.ranks, plural(static_cast<std::uint64_t>(job.ranks), "rank"),
                                     count_text(job.calls), plural(job.calls, "event"));
    lines = wrapped(frame.canvas, Face::kBody, looked, box.width() - frame.px(32), 5);
  }
  float y = box.top + frame.px(12);
  for (const std::string& line : lines) {
    frame.canvas.text(Face::kBody, {box.left + frame.px(16), y}, p.text_mid, line);
    y += frame.canvas.line_height(Face::kBody) + frame.px(2);
  }
}

}  // namespace

std::string place_beside_title(const Finding& finding) {
  auto place = reports::location_of(finding);
  if (!place) return "";
  std::string text = fmt::format("{}:{}", base_name(place->file), place->line);
  return finding.title.find(text) == std::string::npos ? text : "";
}

std::string coverage_text(const findings::Coverage& entry) {
  constexpr std::size_t kSlugs = 3;
  std::string slugs;
  for (std::size_t i = 0; i < std::min(entry.unjudged.size(), kSlugs); ++i)
    slugs += (i == 0 ? "" : ", ") + entry.unjudged[i];
  if (entry.unjudged.size() > kSlugs) slugs += fmt::format(" and {} more", entry.unjudged.size() - kSlugs);
  return (slugs.empty() ? "" : "unjudged " + slugs + ": ") + in_short(entry.what + ": " + entry.why);
}

std::vector<std::uint32_t> listed_findings(const merged::Reader& reader, const std::string& filter) {
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0; i < reader.outcome().findings.size(); ++i)
    if (passes(reader.outcome().findings[i], filter)) shown.push_back(i);
  return shown;
}

float draw_findings_list(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  draw_counts(frame, box);
  Box filter{box.left + frame.px(14), box.top + frame.px(40), box.right - frame.px(14),
             box.top + frame.px(64)};
  frame.canvas.fill(filter, p.window, frame.px(4));
  frame.canvas.frame(filter, p.strong_line, frame.px(4));
  if (frame.state.filter.empty())
    frame.canvas.text_in(Face::kSmall, {filter.left + frame.px(8), filter.top, filter.right, filter.bottom},
                         p.text_low, "Filter by slug, rank, file");
  Box entries{box.left, box.top + frame.px(74), box.right, box.bottom};
  auto shown = listed_findings(frame.reader, frame.state.filter);
  frame.canvas.push_clip(entries);
  float height = List(frame, entries).draw(shown);
  frame.canvas.pop_clip();
  if (shown.empty()) draw_nothing(frame, {entries.left, entries.top + height, entries.right, entries.bottom});
  return shown.empty() ? 0 : height + frame.px(74);
}

namespace {

struct CoverageLine {
  std::string text;
  bool first;
};

constexpr std::size_t kCoverageLines = 6;  // of an entry

std::vector<CoverageLine> coverage_lines(const Canvas& canvas, const merged::Reader& reader, float width) {
  std::vector<CoverageLine> lines;
  for (const findings::Coverage& entry : reader.outcome().coverage) {
    auto some = wrapped(canvas, Face::kSmall, coverage_text(entry), width, kCoverageLines);
    for (std::size_t i = 0; i < some.size(); ++i) lines.push_back({some[i], i == 0});
  }
  if (!reader.is_judged()) return {{"any finding: none was looked for yet", true}};
  if (lines.empty()) return {{"nothing that was looked for is missing", true}};
  return lines;
}

}  // namespace

float coverage_height(const Canvas& canvas, const merged::Reader& reader, float width) {
  auto lines = coverage_lines(canvas, reader, width - canvas.px(46));
  return canvas.px(44) + static_cast<float>(lines.size()) * (canvas.line_height(Face::kSmall) + canvas.px(3));
}

void draw_coverage_box(PanelFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.line({box.left, box.top}, {box.right, box.top}, p.strong_line);
  frame.canvas.text(Face::kStrong, {box.left + frame.px(16), box.top + frame.px(10)}, p.text_mid,
                    "What this trace cannot show");
  float y = box.top + frame.px(32), line = frame.canvas.line_height(Face::kSmall) + frame.px(3);
  auto lines = coverage_lines(frame.canvas, frame.reader, box.width() - frame.px(46));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (y + 2 * line > box.bottom && i + 1 < lines.size()) {
      std::size_t left_out = 0;
      for (std::size_t k = i; k < lines.size(); ++k) left_out += lines[k].first;
      // Of one that is cut off in its middle there is no more than its rest.
      std::string what = left_out ? fmt::format("and {} more", left_out) : std::string("the rest");
      frame.canvas.text(Face::kSmall, {box.left + frame.px(30), y}, p.text_mid, what + ": ddpscope report");
      return;
    }
    if (lines[i].first) frame.canvas.text(Face::kSmall, {box.left + frame.px(16), y}, p.text_low, "·");
    frame.canvas.text(Face::kSmall, {box.left + frame.px(30), y}, p.text_low, lines[i].text);
    y += line;
  }
}

}  // namespace ddpscope::viewer
