// Findings that somebody knows: they are reported, and fail no gate.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"
#include "trace/result.h"

namespace ddpscope::gate {

// The findings of an earlier report (`report --format json`) or summary (`export --format summary`).
struct Baseline {
  struct Entry {
    std::string id, slug;
    std::optional<findings::Severity> severity;  // none: written by hand, it knows its finding at any
  };
  std::vector<Entry> entries;
};
// No JSON, another schema, an id, a slug or a severity that no report has: an error that says so.
Result<Baseline> parse_baseline(std::string_view json);

// A file of lines "FINDING UNTIL REASON": an id or a slug, the last day on which it holds (2027-01-31, or
// `never` ends), and why. What follows a # is a comment.
struct Suppression {
  std::string finding;
  std::optional<std::chrono::year_month_day> until;
  std::string reason;
  std::size_t line;  // from 1
};
Result<std::vector<Suppression>> parse_suppressions(std::string_view text);

bool expired(const Suppression& suppression, std::chrono::year_month_day today);
std::string to_text(std::chrono::year_month_day day);

// Marks what is known. A bug keeps its id while it gets worse (the barrier between its writes is taken away),
// and is not known then. What the outcome has not becomes its `gone`.
void apply(const Baseline& baseline, findings::Outcome& outcome);
// Those that have expired mark nothing. Returns those that match no finding.
std::vector<const Suppression*> apply(const std::vector<Suppression>& suppressions,
                                      std::chrono::year_month_day today, findings::Outcome& outcome);

}  // namespace ddpscope::gate
