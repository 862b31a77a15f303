// By rank, time and kind.
#include "collector/attribution/explain_failure.h"

#include <algorithm>
#include <string_view>

#include "collector/findings/catalogue.h"

namespace ddpscope::attribution {
namespace {

using findings::Finding;
using findings::JobFailure;

constexpr std::string_view kHung = "hung-collective";

// The arrows of the catalogue form no cycle.
bool can_end_jobs(std::string_view slug) {
  if (slug == kHung) return true;
  const findings::CatalogueRow* row = findings::find_row(slug);
  if (!row) return false;
  std::vector<std::string_view> effects = findings::explained_by(*row);
  return std::any_of(effects.begin(), effects.end(), can_end_jobs);
}

bool holds(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool explains(const Finding& finding, const JobFailure& failure) {
  if (std::any_of(failure.ranks.begin(), failure.ranks.end(),
                  [&](std::int32_t rank) { return finding.ended.contains(rank); }))
    return true;
  if (!can_end_jobs(finding.slug) || is_mild(finding)) return false;
  bool its_rank = failure.first_rank < 0 || holds(finding.ranks, failure.first_rank) ||
                  holds(finding.place.ranks, failure.first_rank);
  // Peers wait for the rank that ended, later on.
  bool begun = finding.first_ns <= failure.t_ns || finding.slug == kHung;
  return its_rank && begun && failure.t_ns <= finding.place.to_ns;
}

}  // namespace

bool is_mild(const Finding& finding) {
  const findings::CatalogueRow* row = findings::find_row(finding.slug);
  return row && finding.confidence == findings::Confidence::kCertain && finding.severity < row->severity;
}

void explain(const std::vector<Finding>& found, JobFailure& failure) {
  for (const Finding& finding : found)
    if (explains(finding, failure)) failure.explained_by.push_back(finding.id);
}

}  // namespace ddpscope::attribution
