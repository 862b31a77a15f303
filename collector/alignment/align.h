// Puts the clocks of all hosts on one line: nanoseconds since the job's start. Processes of one host share
// its clock, so hosts are aligned and never ranks (design 3.6).
#pragma once
#include "collector/model/job.h"

namespace ddpscope::alignment {

// Sets the clock of each host, the job's start and duration, and each process's first and last moment.
// Several hosts are placed by what passed between them, each with a bound (docs/clocks.md); those that
// exchanged nothing by their wall clocks, which bound nothing. The start is by the wall clock of the host
// whose clock is the line of the group of the first host.
void align(model::Job& job);

}  // namespace ddpscope::alignment
