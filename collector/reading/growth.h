// Communicators that grew: one, whichever side its members came from.
#pragma once
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::reading {

// The ranks of the old communicator know a grown one as its child, the new ones by the unique id that one of
// the old ranks made for it. The census of `processes` is taken; afterwards all members have one id.
void unite_grown(std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
