// Runs of one job, one after the other, recorded into one folder: a job that is started anew with the same
// names (MASTER_ADDR:PORT, SLURM_JOB_ID) is a further attempt, not more processes of the first.
#pragma once
#include "collector/model/job.h"

namespace ddpscope::reading {

// The `ddpscope run` that a process was started by; empty if it was preloaded in another way.
std::string_view run_of(const model::Process& process);

// Counts attempts on over runs: those of a run that claims a rank which an earlier run, over by then, had
// claimed come after that one's. Ranks and the attempts within a run have to be set.
void number_attempts_of_runs(std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
