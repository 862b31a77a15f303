// Whether ranks of the job failed, and how.
#pragma once
#include <optional>

#include "collector/detectors/rank_ends.h"
#include "collector/findings/finding.h"

namespace ddpscope::detectors {

// Nothing, where no rank failed, or all ended by agreement. Also of a job of one rank. One that failed before
// its first recorded call counts, if its launcher noticed.
std::optional<findings::JobFailure> find_job_failure(const model::Job& job, const RankEnds& ends);

}  // namespace ddpscope::detectors
