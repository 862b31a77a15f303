// A summary as a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

std::string text_of(const std::vector<std::int32_t>& ranks) {
  return fmt::format("{}", fmt::join(findings::runs_of(ranks), ","));
}

constexpr std::int64_t kMostRanks = 1 << 24;  // of all rows: a short list may stand for many

// "0-3,7", no more than there is room for.
std::vector<std::int32_t> parse_ranks(const std::string& text, std::int64_t& room) {
  std::vector<std::int32_t> ranks;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    std::int32_t first = 0, last = 0;
    auto [next, failed] = std::from_chars(at, end, first);
    last = first;
    if (failed == std::errc() && next != end && *next == '-') {
      auto after = std::from_chars(next + 1, end, last);
      next = after.ptr, failed = after.ec;
    }
    std::int64_t count = std::int64_t{last} - first + 1;
    if (failed != std::errc() || first < 0 || count < 1 || count > room ||
        (next != end && (*next != ',' || next + 1 == end)))
      throw std::invalid_argument("'" + text + "' are no ranks");
    room -= count;
    for (std::int64_t i = 0; i < count; ++i) ranks.push_back(static_cast<std::int32_t>(first + i));
    at = next == end ? end : next + 1;
  }
  return ranks;
}

// Throws where something has another type, which parse() turns into an error.
Summary read(const json& object) {
  Summary summary;
  summary.version = object.at("ddpscope").at("version");
  summary.ranks = object.at("job").at("ranks");
  for (const json& row : object.at("findings"))
    summary.findings.push_back({row.at("id"), row.at("slug"), row.at("severity"), row.at("title")});
  if (object.value("kind", "") != "summary") return summary;
  std::int64_t room = kMostRanks;
  summary.steps = object.at("steps");
  summary.ranks_with_steps = parse_ranks(object.at("ranks_with_steps"), room);
  summary.unjudged = object.at("unjudged").get<std::vector<std::string>>();
  for (const json& row : object.at("collectives"))
    summary.issued.push_back(
        {row.at("call"), row.at("per_step"), row.at("bytes"), parse_ranks(row.at("ranks"), room)});
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
                         {"ranks_with_steps", text_of(summary.ranks_with_steps)},
                         {"findings", ordered_json::array()},
                         {"unjudged", summary.unjudged},
                         {"collectives", ordered_json::array()},
                         {"durations", ordered_json::array()}};
  for (const FoundRow& row : summary.findings)
    object["findings"].push_back(
        {{"id", row.id}, {"slug", row.slug}, {"severity", row.severity}, {"title", valid_utf8(row.title)}});
  for (const IssuedRow& row : summary.issued)
    object["collectives"].push_back({{"call", row.call},
                                     {"per_step", row.per_step},
                                     {"bytes", row.bytes},
                                     {"ranks", text_of(row.ranks)}});
  for (const DurationRow& row : summary.durations)
    object["durations"].push_back(
        {{"what", row.what}, {"count", row.count}, {"p50_ms", row.p50_ms}, {"p95_ms", row.p95_ms}});
  return reports::escape_controls_of_json(object.dump(2)) + "\n";
}

Result<Summary> parse(std::string_view text) {
  json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return no_summary("it is not JSON");
  if (!object.is_object() || object.value("schema", json()) != 1) return no_summary("it has no schema 1");
  if (object.value("kind", json()) == "summary" && object.contains("issued"))
    return Error{
        "this summary is of an older version, which knew what the lowest rank issues and of no other", "",
        "make it again with `ddpscope export TRACE --format summary -o FILE`"};
  try {
    return read(object);
  } catch (const std::exception& wrong) {
    return no_summary(wrong.what());
  }
}

}  // namespace ddpscope::summary
