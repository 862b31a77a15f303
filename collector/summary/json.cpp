// A summary as a file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "collector/reports/escape.h"
#include "collector/summary/summary.h"

namespace ddpscope::summary {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using reports::valid_utf8;

Error no_summary(const std::string& what) {
  return {"this is no summary: " + what, "",
          "make one with `ddpscope export TRACE --format summary -o FILE`"};
}

// Throws json::exception where something has another type, which parse() turns into an error.
Summary read(const json& object) {
  Summary summary;
  summary.version = object.at("ddpscope").at("version");
  summary.ranks = object.at("job").at("ranks");
  for (const json& row : object.at("findings"))
    summary.findings.push_back({row.at("id"), row.at("slug"), row.at("severity"), row.at("title")});
  if (object.value("kind", "") != "summary") return summary;
  summary.steps = object.at("steps");
  summary.unjudged = object.at("unjudged").get<std::vector<std::string>>();
  for (const json& row : object.at("issued"))
    summary.issued.push_back({row.at("call"), row.at("per_step"), row.at("bytes")});
  for (const json& row : object.at("durations"))
    summary.durations.push_back({row.at("what"), row.at("count"), row.at("p50_ms"), row.at("p95_ms")});
  return summary;
}

}  // namespace

std::string to_json(const Summary& summary) {
  ordered_json object = {{"schema", 1},
                         {"kind", "summary"},
                         {"ddpscope", {{"version", summary.version}}},
                         {"job", {{"ranks", summary.ranks}}},
                         {"steps", summary.steps},
                         {"findings", ordered_json::array()},
                         {"unjudged", summary.unjudged},
                         {"issued", ordered_json::array()},
                         {"durations", ordered_json::array()}};
  for (const FoundRow& row : summary.findings)
    object["findings"].push_back(
        {{"id", row.id}, {"slug", row.slug}, {"severity", row.severity}, {"title", valid_utf8(row.title)}});
  for (const IssuedRow& row : summary.issued)
    object["issued"].push_back({{"call", row.call}, {"per_step", row.per_step}, {"bytes", row.bytes}});
  for (const DurationRow& row : summary.durations)
    object["durations"].push_back(
        {{"what", row.what}, {"count", row.count}, {"p50_ms", row.p50_ms}, {"p95_ms", row.p95_ms}});
  return reports::escape_controls_of_json(object.dump(2)) + "\n";
}

Result<Summary> parse(std::string_view text) {
  json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return no_summary("it is not JSON");
  if (!object.is_object() || object.value("schema", json()) != 1) return no_summary("it has no schema 1");
  try {
    return read(object);
  } catch (const json::exception& wrong) {
    return no_summary(wrong.what());
  }
}

}  // namespace ddpscope::summary
