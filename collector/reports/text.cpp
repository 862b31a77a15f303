// `report --format text`.
#include <fmt/format.h>

#include <algorithm>

#include "collector/model/device_work.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::reports {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kFrames = 3;  // of the program's in a stack; the JSON report has all
constexpr std::size_t kFiles = 8;   // of a finding; likewise

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

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

std::string times_text(const findings::Finding& finding) {
  if (finding.count < 2) return "";
  std::string text = fmt::format(", {} times", finding.count);
  if (finding.shown >= finding.count) return text;
  return text + (finding.shown == 1 ? "; one is shown" : fmt::format("; {} are shown", finding.shown));
}

std::string evidence_text(std::size_t number, const findings::Evidence& evidence) {
  std::string line = fmt::format("{}. {:.6f} s rank {} ({}) {}", number, seconds(evidence.t_ns),
                                 evidence.rank, escape(evidence.process), escape(evidence.call));
  if (!evidence.detail.empty()) line += ": " + escape(evidence.detail);
  std::string text = fmt::format("    {}\n", wrapped(line, 7));
  if (!evidence.file.empty()) text += fmt::format("       file {}\n", escape(evidence.file));
  std::vector<std::string> stack = evidence.stack;
  std::erase_if(stack, findings::is_library_frame);
  if (stack.empty()) stack = evidence.stack;
  for (std::size_t i = 0; i < stack.size() && i < kFrames; ++i)
    text += fmt::format("       {} {}\n", i == 0 ? "at" : "by", escape(symbols::shortened_frame(stack[i])));
  return text;
}

// What a job that never gets past the bug lost has no step to be counted by.
bool stops_the_job(const findings::Finding& finding) {
  const auto& causes = finding.consequences;
  return finding.slug == "hung-collective" ||
         std::find(causes.begin(), causes.end(), "hung-collective") != causes.end();
}

std::string cost_text(const findings::Finding& finding) {
  if (stops_the_job(finding)) {
    constexpr std::int64_t kLeast = 1'000'000;  // it ended at once
    std::int64_t lost_ns = finding.last_ns - finding.first_ns;
    std::string end = "the job goes no further";
    return lost_ns < kLeast ? end : end + fmt::format(": {:.3g} s lost until it ended", seconds(lost_ns));
  }
  std::string text;
  if (finding.cost.ms_per_step > 0) text = fmt::format("{:.3g} ms a step", finding.cost.ms_per_step);
  if (finding.cost.bytes_per_step > 0)
    text += fmt::format("{}{} bytes a step", text.empty() ? "" : ", ", finding.cost.bytes_per_step);
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
  text += field("more", fmt::format("ddpscope explain {}    (finding {})", finding.slug, finding.id));
  return text + "\n";
}

std::string slug_list(const std::vector<std::string>& slugs) {
  std::string text;
  for (const std::string& slug : slugs) text += (text.empty() ? "" : ", ") + escape(slug);
  return text;
}

std::string coverage_text(const findings::Coverage& entry) {
  std::string unjudged = slug_list(entry.unjudged);
  std::string line = fmt::format("{}: {}", escape(entry.what), escape(entry.why));
  if (!unjudged.empty()) line += "; unjudged: " + unjudged;
  return fmt::format("  - {}\n", wrapped(line, 4));
}

}  // namespace

JobFacts facts_of(const model::Job& job) {
  JobFacts facts;
  facts.ranks = job.ranks().size();
  facts.processes = job.processes.size();
  for (const model::Host& host : job.hosts) facts.hosts.push_back(host.name);
  facts.attempt = job.attempt;
  facts.start_unix_ns = job.start_unix_ns;
  facts.duration_ns = job.duration_ns;
  facts.events = job.calls();
  facts.dropped = job.lost();
  facts.clock_error_ns = job.clock_error_ns;
  facts.gpu_timing = model::gpu_timing(job);
  for (const model::Process& process : job.processes)
    if (std::string_view(process.rank_source) == "order of start")
      facts.numbered_by_start.push_back(process.rank);
  return facts;
}

std::string size_text(const JobFacts& job) {
  return fmt::format("{} rank{}, {} process{}", job.ranks, job.ranks == 1 ? "" : "s", job.processes,
                     job.processes == 1 ? "" : "es");
}

std::string world_text(std::int32_t world_size) {
  return world_size > 0 ? fmt::format("world size {}", world_size) : "no world size told";
}

std::string first_failure_text(const findings::FirstFailure& failure) {
  const std::string process = escape(failure.evidence.process);
  std::string who = failure.evidence.rank < 0 ? process + ", which left no trace,"
                                              : fmt::format("rank {} ({})", failure.evidence.rank, process);
  return fmt::format("first failure: {} {}, at {:.3f} s; the others: {}", who,
                     escape(failure.evidence.detail), seconds(failure.evidence.t_ns), escape(failure.others));
}

std::string text_report(const JobFacts& job, const findings::Outcome& outcome) {
  std::string text = fmt::format("{}, {:.3f} s, {} events, {} dropped\n\n", size_text(job),
                                 seconds(job.duration_ns), job.events, job.dropped);
  const std::string only = slug_list(outcome.only);
  if (!only.empty()) text += fmt::format("{}\n\n", wrapped(fmt::format("looked for: {} only", only), 0));
  if (outcome.first_failure)
    text += fmt::format("{}\n\n", wrapped(first_failure_text(*outcome.first_failure), 0));
  for (const findings::Finding& finding : outcome.findings) text += finding_text(job, finding);
  if (outcome.findings.empty()) text += "nothing found\n\n";
  text += "what this trace cannot show\n";
  for (const findings::Coverage& entry : outcome.coverage) text += coverage_text(entry);
  if (outcome.coverage.empty())
    text += fmt::format("  - nothing is missing{}\n", only.empty() ? "" : " for " + only);
  return text;
}

}  // namespace ddpscope::reports
