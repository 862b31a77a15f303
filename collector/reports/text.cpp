// `report --format text`.
#include <fmt/format.h>

#include <algorithm>

#include "collector/reports/escape.h"
#include "collector/reports/phrases.h"
#include "collector/reports/report.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::reports {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kFrames = 3;  // of the program's in a stack; the JSON report has all
constexpr std::size_t kFiles = 8;   // of a finding; likewise

// Words of `text` in lines of kWidth, all but the first indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    std::size_t end = text.find(' ');
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    bool first = column == indent;
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out += ' ';
    out += word;
    column += word.size() + !first;
  }
  return out;
}

std::string field(const char* name, std::string_view text) {
  return fmt::format("  {:9} {}\n", name, wrapped(text, 12));
}

// The program, or its scheduler, may number them otherwise.
const char* numbering_text(const JobFacts& job, const findings::Finding& finding) {
  bool guessed = std::any_of(finding.ranks.begin(), finding.ranks.end(), [&](std::int32_t rank) {
    return std::find(job.numbered_by_start.begin(), job.numbered_by_start.end(), rank) !=
           job.numbered_by_start.end();
  });
  return guessed ? " (numbered by order of start)" : "";
}

std::string evidence_text(std::size_t number, const findings::Evidence& evidence) {
  std::string line = fmt::format("{}. {:.6f} s rank {} ({}) {}", number, seconds(evidence.t_ns),
                                 evidence.rank, escape(evidence.process), escape(evidence.call));
  if (!evidence.detail.empty()) line += ": " + escape(evidence.detail);
  std::string text = fmt::format("    {}\n", wrapped(line, 7));
  if (!evidence.file.empty()) text += fmt::format("       file {}\n", escape(evidence.file));
  std::vector<std::string> stack = program_frames(evidence.stack);
  for (std::size_t i = 0; i < stack.size() && i < kFrames; ++i)
    text += fmt::format("       {} {}\n", i == 0 ? "at" : "by", escape(symbols::shortened_frame(stack[i])));
  return text;
}

// One file stands in the evidence.
std::string files_text(const findings::Finding& finding) {
  if (finding.files.size() < 2) return "";
  std::string text;
  std::size_t told = 0;
  for (const std::string& file : finding.files) {
    if (told == kFiles) break;
    text += fmt::format("  {:9} {}\n", told++ ? "" : "files", escape(file));
  }
  if (std::size_t more = finding.files.size() - told)
    text += fmt::format("            and {} more: --format json lists them\n", more);
  return text;
}

}  // namespace

std::string order_text(const findings::Order& order) {
  std::string text = field("order", fmt::format("after {} nothing orders it before {}",
                                                escape(order.last_before), escape(order.first_after)));
  for (const findings::LookedFor& edge : order.looked_for)
    text += fmt::format("            {}\n",
                        wrapped(fmt::format("looked for {}: {}", escape(edge.edge), escape(edge.found)), 14));
  return text;
}

std::string finding_text(const JobFacts& job, const findings::Finding& finding) {
  std::string text =
      fmt::format("{}: {} ({})\n", name_of(finding.severity), finding.slug, name_of(finding.confidence));
  text += fmt::format("  {}\n", wrapped(escape(finding.title), 2));
  text += field("ranks", findings::list_numbers(finding.ranks, ", ") + numbering_text(job, finding));
  text += files_text(finding);
  text += field("when", fmt::format("{:.6f} s to {:.6f} s{}", seconds(finding.first_ns),
                                    seconds(finding.last_ns), times_text(finding)));
  if (std::string cost = cost_text(finding); !cost.empty()) text += field("cost", cost);
  for (const std::string& slug : finding.consequences) text += field("causes", slug);
  for (const findings::Order& order : finding.order) text += order_text(order);
  text += "  evidence\n";
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) text += evidence_text(i + 1, finding.evidence[i]);
  text += field("fix", escape(finding.advice));
  if (std::string known = known_text(finding); !known.empty()) text += field("known", known);
  if (std::string worse = worse_text(finding); !worse.empty()) text += field("new", worse);
  text += field("more", fmt::format("ddpscope explain {}    (finding {})", finding.slug, finding.id));
  return text + "\n";
}

std::string text_report(const JobFacts& job, const findings::Outcome& outcome) {
  std::string text;
  if (std::string failed = unexplained_failure_text(outcome); !failed.empty())
    text = wrapped(failed, 0) + "\n";
  text += fmt::format("{}, {:.3f} s, {} events, {} dropped\n\n", size_text(job), seconds(job.duration_ns),
                      job.events, job.dropped);
  const std::string only = slug_list(outcome.only);
  if (!only.empty()) text += fmt::format("{}\n\n", wrapped(fmt::format("looked for: {} only", only), 0));
  if (outcome.first_failure)
    text += fmt::format("{}\n\n", wrapped(first_failure_text(*outcome.first_failure), 0));
  for (const findings::Finding& finding : outcome.findings) text += finding_text(job, finding);
  if (outcome.findings.empty()) text += "nothing found\n\n";
  for (const std::string& gone : outcome.gone) text += fmt::format("gone since the baseline: {}\n", gone);
  if (!outcome.gone.empty()) text += "\n";
  text += "what this trace cannot show\n";
  for (const findings::Coverage& entry : outcome.coverage)
    text += fmt::format("  - {}\n", wrapped(coverage_text(entry), 4));
  if (outcome.coverage.empty())
    text += fmt::format("  - nothing is missing{}\n", only.empty() ? "" : " for " + only);
  return text;
}

}  // namespace ddpscope::reports
