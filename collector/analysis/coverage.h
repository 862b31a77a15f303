// What the trace as such cannot show, whatever the detectors look for.
#pragma once
#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::analysis {

void add_coverage(const model::Job& job, const matching::Collectives& collectives,
                  const std::vector<Error>& errors, std::vector<findings::Coverage>& coverage);

}  // namespace ddpscope::analysis
