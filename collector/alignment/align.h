// Puts the clocks of all hosts on one line: nanoseconds since the job's start. Processes of one host share
// its clock, so hosts are aligned and never ranks (design 3.6).
#pragma once
#include "collector/model/job.h"

namespace ddpscope::alignment {

// Sets the clock of each host, the job's start and duration, and each process's first and last moment.
// Several hosts are placed by their wall clocks; then the bound is what the wall clocks may be apart.
void align(model::Job& job);

}  // namespace ddpscope::alignment
