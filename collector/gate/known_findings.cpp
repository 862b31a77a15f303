#include "collector/gate/known_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/findings/catalogue.h"

namespace ddpscope::gate {
namespace {

using findings::Finding;
using findings::KnownBy;

constexpr std::size_t kIdDigits = 16;

bool is_id(std::string_view text) {
  return text.size() == kIdDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view next_word(std::string_view& line) {
  constexpr const char* kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// YYYY-MM-DD of a day that there is.
std::optional<std::chrono::year_month_day> parse_day(std::string_view text) {
  auto number = [&](std::size_t from, std::size_t digits) {
    int value = -1;
    auto [end, error] = std::from_chars(text.data() + from, text.data() + from + digits, value);
    return error == std::errc() && end == text.data() + from + digits ? value : -1;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  std::chrono::year_month_day found{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                    std::chrono::day(static_cast<unsigned>(day))};
  return found.ok() ? std::optional(found) : std::nullopt;
}

Error in_line(std::size_t line, std::string what) {
  return {fmt::format("line {}: {}", line, what), "",
          "write: FINDING UNTIL REASON, where FINDING is an id or a slug and UNTIL is YYYY-MM-DD or never"};
}

Result<Suppression> parse_line(std::string_view text, std::size_t line) {
  std::string finding(next_word(text)), until(next_word(text)), reason(trimmed(text));
  if (!is_id(finding) && !findings::find_row(finding))
    return in_line(line, "'" + finding + "' is neither the id nor the slug of a finding");
  auto day = parse_day(until);
  if (!day && until != "never")
    return in_line(line, "'" + until + "' is no day until which the suppression holds");
  if (reason.empty()) return in_line(line, "there is no reason");
  return Suppression{finding, day, reason, line};
}

Error no_baseline(const std::string& what) {
  return {"this is no baseline: " + what, "",
          "make one with `ddpscope report TRACE --format json --fail-on none -o FILE`"};
}

}  // namespace

Result<Baseline> parse_baseline(std::string_view json) {
  auto report = nlohmann::json::parse(json, nullptr, false);
  if (report.is_discarded()) return no_baseline("it is not JSON");
  if (!report.is_object() || !report.contains("schema") || report["schema"] != 1 ||
      !report.contains("findings") || !report["findings"].is_array())
    return no_baseline("it has no schema 1 and no findings");
  Baseline baseline;
  for (const auto& finding : report["findings"]) {
    auto text = [&](const char* key) {
      return finding.is_object() && finding.contains(key) && finding[key].is_string()
                 ? finding[key].get<std::string>()
                 : std::string();
    };
    Baseline::Entry entry{text("id"), text("slug"), findings::severity_named(text("severity"))};
    if (!is_id(entry.id)) return no_baseline("'" + entry.id + "' is not the id of a finding");
    if (!findings::find_row(entry.slug)) return no_baseline("there is no finding '" + entry.slug + "'");
    if (!entry.severity && finding.contains("severity"))
      return no_baseline("finding " + entry.id + " has a severity that there is not");
    baseline.entries.push_back(std::move(entry));
  }
  return baseline;
}

Result<std::vector<Suppression>> parse_suppressions(std::string_view text) {
  std::vector<Suppression> found;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = trimmed(text.substr(0, std::min(end, text.substr(0, end).find('#'))));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty()) continue;
    auto suppression = parse_line(content, line);
    if (!suppression) return suppression.error();
    found.push_back(std::move(*suppression));
  }
  return found;
}

bool expired(const Suppression& suppression, std::chrono::year_month_day today) {
  return suppression.until && *suppression.until < today;
}

std::string to_text(std::chrono::year_month_day day) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

void apply(const Baseline& baseline, findings::Outcome& outcome) {
  for (const Baseline::Entry& entry : baseline.entries) {
    auto found = std::ranges::find(outcome.findings, entry.id, &Finding::id);
    if (found == outcome.findings.end())
      outcome.gone.push_back(fmt::format("{} (finding {})", entry.slug, entry.id));
    else if (entry.severity && *entry.severity < found->severity)
      found->worse_than = entry.severity;
    else
      found->known_by = KnownBy::kBaseline;
  }
  outcome.compared = true;
}

std::vector<const Suppression*> apply(const std::vector<Suppression>& suppressions,
                                      std::chrono::year_month_day today, findings::Outcome& outcome) {
  std::vector<const Suppression*> idle;
  for (const Suppression& suppression : suppressions) {
    bool matches = false;
    for (Finding& finding : outcome.findings) {
      if (finding.id != suppression.finding && finding.slug != suppression.finding) continue;
      matches = true;
      if (expired(suppression, today)) continue;
      finding.known_by = KnownBy::kSuppression;
      finding.known_because =
          suppression.until ? fmt::format("until {}: {}", to_text(*suppression.until), suppression.reason)
                            : suppression.reason;
    }
    if (!matches) idle.push_back(&suppression);
  }
  return idle;
}

}  // namespace ddpscope::gate
