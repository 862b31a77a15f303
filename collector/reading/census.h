// One pass over a process's records: how many calls of which class, its settings, the communicators it
// joined.
#pragma once
#include "collector/model/job.h"

namespace ddpscope::reading {

void take_census(model::Process& process);

}  // namespace ddpscope::reading
