// Ranks of which a detector says nothing, by why.
#pragma once
#include <map>
#include <set>
#include <string>

#include "collector/findings/finding.h"

namespace ddpscope::detectors {

class UnjudgedRanks {
 public:
  void add(const std::string& why, std::int32_t rank) { ranks_[why].insert(rank); }
  // An entry of the coverage for each reason. `what`: of ranks, "who of {} keeps the others waiting".
  void tell(const char* what, const char* slug, bool entirely, findings::Outcome& outcome) const;

 private:
  std::map<std::string, std::set<std::int32_t>> ranks_;
};

}  // namespace ddpscope::detectors
