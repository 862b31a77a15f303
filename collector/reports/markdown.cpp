// `report --format markdown`: a comment on a pull request, a job's summary.
#include <fmt/format.h>

#include <algorithm>

#include "collector/reports/escape.h"
#include "collector/reports/format.h"
#include "collector/reports/phrases.h"

namespace ddpscope::reports {
namespace {

using findings::Finding;

// Prose: what would be markup or HTML is text, and an @ mentions nobody.
std::string prose(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]()#+-!|~<>&$:";
  std::string out;
  for (char c : escape(text)) {
    bool begins_a_link =
        c == '.' && (out.ends_with("www") || out.ends_with("WWW"));  // GitHub makes one of it
    if (begins_a_link || kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
    if (c == '@') out += "<!-- -->";
  }
  return out;
}

// A block that nothing within can end.
std::string fenced(std::string_view text) {
  std::size_t longest = 0, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(std::max<std::size_t>(longest + 1, 3), '`');
  return fmt::format("{0}text\n{1}{0}\n", fence, text);
}

bool is_known(const Finding& finding) { return finding.known_by != findings::KnownBy::kNobody; }

}  // namespace

std::string markdown_report(const Report& report) {
  const findings::Outcome& outcome = report.outcome;
  std::string text = fmt::format("## ddpscope: {}\n\n{}, {:.3f} s, {} events, {} dropped\n\n",
                                 headline(outcome), size_text(report.job), seconds(report.job.duration_ns),
                                 report.job.events, report.job.dropped);
  if (!outcome.only.empty()) text += fmt::format("Looked for: {} only.\n\n", prose(slug_list(outcome.only)));
  if (std::string failed = unexplained_failure_text(outcome); !failed.empty()) text += prose(failed) + "\n\n";
  if (outcome.first_failure) text += prose(first_failure_text(*outcome.first_failure)) + "\n\n";
  if (!outcome.findings.empty()) text += "| | finding | | cost |\n|---|---|---|---|\n";
  for (const Finding& finding : outcome.findings)
    text += fmt::format("| {}{} | `{}` | {} | {} |\n", name_of(finding.severity),
                        is_known(finding) ? ", known" : "", finding.slug, prose(finding.title),
                        prose(cost_text(finding)));
  if (!outcome.findings.empty()) text += "\n";
  for (const Finding& finding : outcome.findings)
    text += fmt::format("<details><summary>{}: {}</summary>\n\n{}\n</details>\n\n", name_of(finding.severity),
                        finding.slug, fenced(finding_text(report.job, finding)));
  for (const std::string& gone : outcome.gone)
    text += fmt::format("Gone since the baseline: {}\n\n", prose(gone));
  if (!outcome.coverage.empty()) text += "<details><summary>What this trace cannot show</summary>\n\n";
  for (const findings::Coverage& entry : outcome.coverage)
    text += fmt::format("- {}\n", prose(coverage_text(entry)));
  if (!outcome.coverage.empty()) text += "\n</details>\n";
  return text;
}

}  // namespace ddpscope::reports
