// Which findings explain that the job failed.
#pragma once
#include <vector>

#include "collector/findings/finding.h"

namespace ddpscope::attribution {

// The mild form of a kind that is worse as a rule (a duplicate write whose writes are ordered) ends no rank.
// One that is less severe because it is less certain is not mild.
bool is_mild(const findings::Finding& finding);

// Sets `explained_by`. A finding explains the failure if a rank that failed ended of it, as its own calls
// show; or if its kind can end a job (by the catalogue: what follows from it leads to a hang), it is not
// mild, and the rank that failed first began to end in its place, after it had begun.
void explain(const std::vector<findings::Finding>& found, findings::JobFailure& failure);

}  // namespace ddpscope::attribution
