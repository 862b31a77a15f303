// What `ddpscope run` saw of the job from outside: when processes ended that could not write it themselves.
#pragma once
#include "collector/model/job.h"

namespace ddpscope::reading {

// Takes the files that `ddpscope run` wrote out of `processes`, and tells every process that left no exit of
// its own when it ended: as it was seen, else when the run that started it did. And every process when it was
// told to end, by the run (which hands on what came for the job) or by another process of the job.
void take_endings(std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
