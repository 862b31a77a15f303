#include "collector/reports/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collector/model/device_work.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"

namespace ddpscope::reports {

bool stops_the_job(const findings::Finding& finding) {
  const auto& causes = finding.consequences;
  return finding.slug == "hung-collective" ||
         std::find(causes.begin(), causes.end(), "hung-collective") != causes.end();
}

std::string headline(const findings::Outcome& outcome) {
  std::array<std::size_t, 3> counts{};
  std::size_t known = 0;
  for (const findings::Finding& finding : outcome.findings)
    ++(finding.known_by != findings::KnownBy::kNobody ? known
                                                      : counts[static_cast<std::size_t>(finding.severity)]);
  std::string text;
  for (findings::Severity severity :
       {findings::Severity::kError, findings::Severity::kWarning, findings::Severity::kInfo}) {
    std::size_t count = counts[static_cast<std::size_t>(severity)];
    if (!count) continue;
    const char* plural = count == 1 || severity == findings::Severity::kInfo ? "" : "s";
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, name_of(severity), plural);
  }
  if (known) text += fmt::format("{}{} known", text.empty() ? "" : ", ", known);
  if (text.empty()) text = "nothing found";
  if (!unexplained_failure_text(outcome).empty())
    text += outcome.findings.empty() ? ", but the job failed" : ", and a failure that none explains";
  return text;
}

std::string slug_list(const std::vector<std::string>& slugs) {
  std::string text;
  for (const std::string& slug : slugs) text += (text.empty() ? "" : ", ") + escape(slug);
  return text;
}

std::string times_text(const findings::Finding& finding) {
  if (finding.count < 2) return "";
  std::string text = fmt::format(", {} times", finding.count);
  if (finding.shown >= finding.count) return text;
  return text + (finding.shown == 1 ? "; one is shown" : fmt::format("; {} are shown", finding.shown));
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

std::string known_text(const findings::Finding& finding) {
  if (finding.known_by == findings::KnownBy::kBaseline) return "in the baseline";
  if (finding.known_by == findings::KnownBy::kSuppression)
    return "suppressed " + escape(finding.known_because);
  return "";
}

std::string worse_text(const findings::Finding& finding) {
  if (!finding.worse_than) return "";
  const char* article = finding.worse_than == findings::Severity::kInfo ? "" : "a ";
  return fmt::format("worse than in the baseline: {}{} there", article, name_of(*finding.worse_than));
}

std::string coverage_text(const findings::Coverage& entry) {
  std::string unjudged = slug_list(entry.unjudged);
  return fmt::format("{}: {}{}{}", escape(entry.what), escape(entry.why),
                     unjudged.empty() ? "" : "; unjudged: ", unjudged);
}

std::vector<AdvicePart> advice_parts(std::string_view advice) {
  std::vector<AdvicePart> parts;
  while (!advice.empty()) {
    std::size_t open = advice.find('`'), close = open;
    if (open != std::string_view::npos) close = advice.find('`', open + 1);
    if (close == std::string_view::npos) open = advice.size();  // one alone is a character as any other
    if (open > 0) parts.push_back({advice.substr(0, open), false});
    if (open == advice.size()) break;
    parts.push_back({advice.substr(open + 1, close - open - 1), true});
    advice.remove_prefix(close + 1);
  }
  return parts;
}

std::vector<std::string> program_frames(std::vector<std::string> stack) {
  std::vector<std::string> own = stack;
  std::erase_if(own, findings::is_library_frame);
  return own.empty() ? stack : own;
}

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

std::string unexplained_failure_text(const findings::Outcome& outcome) {
  // Of a few findings alone nothing can be said.
  if (!outcome.failure || outcome.failure->explained() || !outcome.only.empty()) return "";
  constexpr const char* kText = "the job failed, and no finding explains it";
  if (outcome.first_failure) return kText;
  return fmt::format("{}: {}", kText, escape(outcome.failure->how));
}

std::string first_failure_text(const findings::FirstFailure& failure) {
  const std::string process = escape(failure.evidence.process);
  std::string who = failure.evidence.rank < 0 ? process + ", which left no trace,"
                                              : fmt::format("rank {} ({})", failure.evidence.rank, process);
  return fmt::format("first failure: {} {}, at {:.3f} s; the others: {}", who,
                     escape(failure.evidence.detail), seconds(failure.evidence.t_ns), escape(failure.others));
}

}  // namespace ddpscope::reports
