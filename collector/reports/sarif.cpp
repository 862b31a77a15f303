// `report --format sarif`: what code scanning of GitHub, GitLab and editors read.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "collector/findings/catalogue.h"
#include "collector/reports/code_location.h"
#include "collector/reports/escape.h"
#include "collector/reports/format.h"
#include "collector/reports/phrases.h"

namespace ddpscope::reports {
namespace {

using findings::Severity;
using nlohmann::ordered_json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kRoot = "%SRCROOT%";

const char* level_of(Severity severity) {
  if (severity == Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "note";
}

ordered_json message(std::string_view text) { return {{"text", escape(text)}}; }

// RFC 3986: all but unreserved characters and the slashes between folders.
std::string uri_path(std::string_view path) {
  std::string uri;
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

class Run {
 public:
  explicit Run(const Report& report) : report_(report) {}

  ordered_json object() {
    ordered_json results = ordered_json::array();
    for (const findings::Finding& finding : report_.outcome.findings) results.push_back(result(finding));
    return {{"tool", {{"driver", driver()}}},
            {"invocations", ordered_json::array({invocation()})},
            {"originalUriBaseIds",
             {{kRoot, {{"description", message("the folder that the report was made in")}}}}},
            {"results", results}};
  }

 private:
  ordered_json driver() const;
  ordered_json invocation() const;
  ordered_json result(const findings::Finding& finding) const;
  ordered_json flow(const findings::Finding& finding) const;
  ordered_json location(const CodeLocation& place) const;

  const Report& report_;
};

ordered_json Run::driver() const {
  ordered_json rules = ordered_json::array();
  for (const findings::CatalogueRow& row : findings::catalogue()) {
    ordered_json rule = {{"id", row.slug},
                         {"shortDescription", {{"text", row.sentence}}},
                         {"defaultConfiguration", {{"level", level_of(row.severity)}}}};
    if (std::string_view page = findings::page_of(row.slug); !page.empty())
      rule["help"] = {{"text", fmt::format("ddpscope explain {}", row.slug)}, {"markdown", page}};
    rules.push_back(rule);
  }
  return {{"name", "ddpscope"}, {"version", report_.version}, {"rules", rules}};
}

ordered_json Run::invocation() const {
  ordered_json told = ordered_json::array();
  if (std::string failed = unexplained_failure_text(report_.outcome); !failed.empty())
    told.push_back({{"level", "warning"}, {"message", {{"text", failed}}}});
  if (report_.outcome.first_failure)
    told.push_back(
        {{"level", "note"}, {"message", {{"text", first_failure_text(*report_.outcome.first_failure)}}}});
  for (const findings::Coverage& entry : report_.outcome.coverage)
    told.push_back({{"level", "note"},
                    {"message", {{"text", coverage_text(entry)}}},
                    {"properties", {{"unjudged", entry.unjudged}}}});
  return {{"executionSuccessful", true}, {"toolExecutionNotifications", told}};
}

ordered_json Run::location(const CodeLocation& place) const {
  std::filesystem::path path = std::filesystem::path(place.file).lexically_normal();
  ordered_json artifact;
  if (path.is_absolute()) {
    std::filesystem::path below = path.lexically_relative(report_.source_root);
    if (below.empty() || *below.begin() == "..")
      artifact = {{"uri", "file://" + uri_path(path.string())}};
    else
      path = below;
  }
  if (artifact.empty()) artifact = {{"uri", uri_path(path.string())}, {"uriBaseId", kRoot}};
  ordered_json object = {
      {"physicalLocation", {{"artifactLocation", artifact}, {"region", {{"startLine", place.line}}}}}};
  if (!place.function.empty())
    object["logicalLocations"] = ordered_json::array({{{"fullyQualifiedName", escape(place.function)}}});
  return object;
}

// The story: in the order of the evidence, what each rank did.
ordered_json Run::flow(const findings::Finding& finding) const {
  std::map<std::int32_t, ordered_json> ranks;
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    const findings::Evidence& evidence = finding.evidence[i];
    auto place = location_of(evidence);
    ordered_json where = place ? location(*place) : ordered_json::object();
    std::string detail = evidence.detail.empty() ? "" : ": " + escape(evidence.detail);
    where["message"] = {{"text", fmt::format("rank {} ({}) {}{}", evidence.rank, escape(evidence.process),
                                             escape(evidence.call), detail)}};
    ranks[evidence.rank].push_back(
        {{"location", where},
         {"executionOrder", i + 1},
         {"properties", {{"t_ns", evidence.t_ns}, {"file", escape(evidence.file)}}}});
  }
  ordered_json threads = ordered_json::array();
  for (const auto& [rank, steps] : ranks)
    threads.push_back({{"id", fmt::format("rank {}", rank)}, {"locations", steps}});
  return {{"threadFlows", threads}};
}

// Whatever is not "unchanged" is for a gate to fail on.
const char* baseline_state(const findings::Finding& finding) {
  if (finding.known_by == findings::KnownBy::kBaseline) return "unchanged";
  return finding.worse_than ? "updated" : "new";
}

ordered_json Run::result(const findings::Finding& finding) const {
  ordered_json result = {{"ruleId", finding.slug},
                         {"level", level_of(finding.severity)},
                         {"message", message(finding.title + ". " + finding.advice)},
                         {"partialFingerprints", {{"ddpscopeFinding/v1", finding.id}}},
                         {"properties",
                          {{"confidence", name_of(finding.confidence)},
                           {"ranks", finding.ranks},
                           {"count", finding.count},
                           {"first_ns", finding.first_ns},
                           {"last_ns", finding.last_ns},
                           {"ms_per_step", finding.cost.ms_per_step},
                           {"bytes_per_step", finding.cost.bytes_per_step},
                           {"consequences", finding.consequences}}}};
  if (report_.outcome.compared) result["baselineState"] = baseline_state(finding);
  if (finding.worse_than) result["properties"]["worse_than_baseline"] = name_of(*finding.worse_than);
  if (finding.known_by == findings::KnownBy::kSuppression)
    result["suppressions"] =
        ordered_json::array({{{"kind", "external"}, {"justification", escape(finding.known_because)}}});
  auto rows = findings::catalogue();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].slug == finding.slug) result["ruleIndex"] = i;
  if (auto place = location_of(finding)) result["locations"] = ordered_json::array({location(*place)});
  if (!finding.evidence.empty()) result["codeFlows"] = ordered_json::array({flow(finding)});
  return result;
}

}  // namespace

std::string sarif_report(const Report& report) {
  ordered_json log = {
      {"$schema", kSchema}, {"version", "2.1.0"}, {"runs", ordered_json::array({Run(report).object()})}};
  return escape_controls_of_json(log.dump(2)) + "\n";
}

}  // namespace ddpscope::reports
