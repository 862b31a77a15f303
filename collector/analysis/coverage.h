// What the trace as such cannot show, whatever the detectors look for.
#pragma once
#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::analysis {

void add_coverage(const model::Job& job, const matching::Collectives& collectives,
                  const std::vector<Error>& errors, std::vector<findings::Coverage>& coverage);

// Leaves out what concerns other findings than these slugs.
void keep_requested(const std::vector<std::string>& only, std::vector<findings::Coverage>& coverage);

}  // namespace ddpscope::analysis
