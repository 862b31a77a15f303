// `report --format json`. Other programs read this: fields are added, never changed.
#include <nlohmann/json.hpp>

#include "collector/reports/escape.h"
#include "collector/reports/report.h"

namespace ddpscope::reports {
namespace {

using nlohmann::ordered_json;

ordered_json texts(const std::vector<std::string>& lines) {
  ordered_json array = ordered_json::array();
  for (const std::string& line : lines) array.push_back(valid_utf8(line));
  return array;
}

// null: of some hosts nothing is known.
ordered_json clock_error(const JobFacts& job) {
  if (job.clock_error_ns >= model::kUnaligned) return nullptr;
  return static_cast<double>(job.clock_error_ns) * 1e-3;
}

ordered_json job_object(const JobFacts& job) {
  return {{"ranks", job.ranks},
          {"processes", job.processes},
          {"hosts", texts(job.hosts)},
          {"attempt", job.attempt},
          {"start_unix_ns", job.start_unix_ns},
          {"duration_s", static_cast<double>(job.duration_ns) * 1e-9},
          {"events", job.events},
          {"dropped", job.dropped},
          {"clock_error_us", clock_error(job)},
          {"gpu_timing", valid_utf8(job.gpu_timing)}};
}

ordered_json evidence_object(const findings::Evidence& evidence) {
  return {{"rank", evidence.rank},
          {"process", valid_utf8(evidence.process)},
          {"t_ns", evidence.t_ns},
          {"call", evidence.call},
          {"detail", valid_utf8(evidence.detail)},
          {"file", valid_utf8(evidence.file)},
          {"stack", texts(evidence.stack)}};
}

ordered_json order_object(const findings::Order& order) {
  ordered_json looked_for = ordered_json::array();
  for (const findings::LookedFor& edge : order.looked_for)
    looked_for.push_back({{"edge", valid_utf8(edge.edge)}, {"found", valid_utf8(edge.found)}});
  return {{"last_before", valid_utf8(order.last_before)},
          {"first_after", valid_utf8(order.first_after)},
          {"looked_for", looked_for}};
}

constexpr std::size_t kMostFiles = 1000;

ordered_json first_files(const findings::Finding& finding) {
  ordered_json array = ordered_json::array();
  for (const std::string& file : finding.files)
    if (array.size() < kMostFiles) array.push_back(valid_utf8(file));
  return array;
}

ordered_json finding_object(const findings::Finding& finding) {
  ordered_json object = {
      {"id", finding.id},
      {"slug", finding.slug},
      {"severity", name_of(finding.severity)},
      {"confidence", name_of(finding.confidence)},
      {"title", valid_utf8(finding.title)},
      {"ranks", finding.ranks},
      {"files", first_files(finding)},
      {"file_count", finding.files.size()},
      {"count", finding.count},
      {"first_ns", finding.first_ns},
      {"last_ns", finding.last_ns},
      {"cost", {{"ms_per_step", finding.cost.ms_per_step}, {"bytes_per_step", finding.cost.bytes_per_step}}},
      {"advice", valid_utf8(finding.advice)},
      {"consequences", texts(finding.consequences)}};
  if (!finding.order.empty()) object["order"] = order_object(finding.order.front());
  if (finding.known_by == findings::KnownBy::kBaseline) object["known_by"] = "baseline";
  if (finding.known_by == findings::KnownBy::kSuppression) object["known_by"] = "suppression";
  if (!finding.known_because.empty()) object["known_because"] = valid_utf8(finding.known_because);
  if (finding.worse_than) object["worse_than_baseline"] = name_of(*finding.worse_than);
  object["evidence"] = ordered_json::array();
  for (const findings::Evidence& evidence : finding.evidence)
    object["evidence"].push_back(evidence_object(evidence));
  return object;
}

}  // namespace

std::string json_report(const JobFacts& job, const findings::Outcome& outcome, const std::string& version) {
  ordered_json report = {{"schema", 1}, {"ddpscope", {{"version", version}}}, {"job", job_object(job)}};
  if (!outcome.only.empty()) report["only"] = texts(outcome.only);
  if (outcome.first_failure) {
    report["first_failure"] = evidence_object(outcome.first_failure->evidence);
    report["first_failure"]["others"] = valid_utf8(outcome.first_failure->others);
  }
  if (const auto& failure = outcome.failure)
    report["failure"] = {{"ranks", failure->ranks},
                         {"how", valid_utf8(failure->how)},
                         {"explained_by", texts(failure->explained_by)}};
  report["coverage"] = ordered_json::array();
  for (const findings::Coverage& entry : outcome.coverage)
    report["coverage"].push_back({{"what", valid_utf8(entry.what)},
                                  {"why", valid_utf8(entry.why)},
                                  {"unjudged", texts(entry.unjudged)}});
  if (outcome.compared) report["gone"] = texts(outcome.gone);
  report["findings"] = ordered_json::array();
  for (const findings::Finding& finding : outcome.findings)
    report["findings"].push_back(finding_object(finding));
  return escape_controls_of_json(report.dump(2)) + "\n";
}

std::string json_finding(const findings::Finding& finding) {
  return escape_controls_of_json(finding_object(finding).dump());
}

}  // namespace ddpscope::reports
