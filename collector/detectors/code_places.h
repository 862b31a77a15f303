// Where in the program a collective is called from: not in the wrapper that all of them pass through.
#pragma once
#include <string>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::detectors {

class CodePlaces {
 public:
  CodePlaces(const model::Job& job, const matching::Collectives& collectives)
      : job_(job), collectives_(collectives) {}

  // "FILE:LINE FUNCTION" of the innermost frame that no other call site of the job's collectives shares, the
  // frames inside of it being equal; empty without a stack.
  std::string of(const matching::CollectiveCall& call) const;
  // The whole stack: what is equal for the same bug in another run of the program.
  std::string whole(const matching::CollectiveCall& call) const;

 private:
  void load() const;  // at the first question: most jobs are healthy

  const model::Job& job_;
  const matching::Collectives& collectives_;
  mutable std::vector<std::vector<std::string>> stacks_;  // by site
};

}  // namespace ddpscope::detectors
