// A difference for people and for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "collector/reports/escape.h"
#include "collector/summary/difference.h"

namespace ddpscope::summary {
namespace {

using nlohmann::ordered_json;
using reports::escape;

std::string finding_line(const char* how, const FoundRow& row, const std::string& in_base = "") {
  return fmt::format("{:7} {}: {} (finding {}){}\n        {}\n", how, escape(row.severity), escape(row.slug),
                     escape(row.id), in_base, escape(row.title));
}

std::string finding_line(const char* how, const SeverityChange& change) {
  return finding_line(how, change.row, fmt::format(" ({} in BASE)", escape(change.base_severity)));
}

std::string duration_line(const DurationChange& change) {
  std::string verdict = change.slower ? "SLOWER" : "";
  if (!change.slower && change.chance) verdict = fmt::format("chance {:.3f}", *change.chance);
  double factor = change.base_p50_ms > 0 ? change.now_p50_ms / change.base_p50_ms : 1;
  return fmt::format("  {:>10.3f} {:>10.3f} {:>7.2f}x {:>10.3f} {:>10.3f}   {}  {}\n", change.base_p50_ms,
                     change.now_p50_ms, factor, change.base_p95_ms, change.now_p95_ms, escape(change.what),
                     verdict);
}

ordered_json finding_object(const FoundRow& row) {
  return {{"id", row.id},
          {"slug", row.slug},
          {"severity", row.severity},
          {"title", reports::valid_utf8(row.title)}};
}

ordered_json finding_object(const SeverityChange& change) {
  ordered_json object = finding_object(change.row);
  object["base_severity"] = change.base_severity;
  return object;
}

template <class Row>
ordered_json findings_array(const std::vector<Row>& rows) {
  ordered_json array = ordered_json::array();
  for (const Row& row : rows) array.push_back(finding_object(row));
  return array;
}

}  // namespace

std::string to_text(const Difference& difference) {
  std::string text;
  for (const FoundRow& row : difference.found) text += finding_line("new", row);
  for (const SeverityChange& change : difference.worse) text += finding_line("worse", change);
  for (const SeverityChange& change : difference.better) text += finding_line("better", change);
  for (const FoundRow& row : difference.gone) text += finding_line("gone", row);
  if (!difference.issued.empty()) text += "a step issues, before and now\n";
  for (const IssuedChange& change : difference.issued)
    text += fmt::format("  {:>5} {:>5}   {} ({} bytes) by {}\n", change.base, change.now, escape(change.call),
                        change.bytes, findings::list_ranks(change.ranks));
  if (difference.more_issued) text += "  MORE than before\n";
  if (!difference.durations.empty())
    text += fmt::format("  {:>10} {:>10} {:>8} {:>10} {:>10}   medians over the runs, of the lowest rank\n",
                        "p50, ms", "now", "", "p95, ms", "now");
  for (const DurationChange& change : difference.durations) text += duration_line(change);
  for (const std::string& what : difference.not_compared) text += "not judged: " + escape(what) + "\n";
  if (difference.unjudged_fails && difference.less_judged) text += "  LESS is judged than before\n";
  return text + (difference.regression() ? "regression\n" : "no regression\n");
}

std::string to_json(const Difference& difference) {
  ordered_json object = {{"schema", 1},
                         {"regression", difference.regression()},
                         {"new", findings_array(difference.found)},
                         {"worse", findings_array(difference.worse)},
                         {"better", findings_array(difference.better)},
                         {"gone", findings_array(difference.gone)},
                         {"issued", ordered_json::array()},
                         {"more_issued", difference.more_issued},
                         {"durations", ordered_json::array()},
                         {"not_judged", difference.not_compared},
                         {"less_judged", difference.less_judged}};
  for (const IssuedChange& change : difference.issued)
    object["issued"].push_back({{"call", change.call},
                                {"base", change.base},
                                {"new", change.now},
                                {"bytes", change.bytes},
                                {"ranks", change.ranks}});
  for (const DurationChange& change : difference.durations)
    object["durations"].push_back({{"what", change.what},
                                   {"base_runs", change.base_runs},
                                   {"new_runs", change.now_runs},
                                   {"base_p50_ms", change.base_p50_ms},
                                   {"new_p50_ms", change.now_p50_ms},
                                   {"base_p95_ms", change.base_p95_ms},
                                   {"new_p95_ms", change.now_p95_ms},
                                   {"chance", change.chance ? ordered_json(*change.chance) : ordered_json()},
                                   {"slower", change.slower}});
  return reports::escape_controls_of_json(object.dump(2)) + "\n";
}

}  // namespace ddpscope::summary
