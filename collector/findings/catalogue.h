// The catalogue of findings, made from findings.def.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"

namespace ddpscope::findings {

struct CatalogueRow {
  std::string_view slug;
  Severity severity;
  std::string_view otherwise;  // "error with what follows": another severity, and when; or empty
  std::string_view works_on;   // "NCCL, Gloo": whose collectives the ranks may run; or "any"
  std::string_view sentence;
  std::string_view explains;  // slugs, separated by blanks
  std::string_view faults;
};

std::span<const CatalogueRow> catalogue();
const CatalogueRow* find_row(std::string_view slug);
std::vector<std::string_view> explained_by(const CatalogueRow& row);

// The page docs/findings/SLUG.md, embedded at build time; empty if there is none.
std::string_view page_of(std::string_view slug);

}  // namespace ddpscope::findings
