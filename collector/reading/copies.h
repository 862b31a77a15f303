// Further copies of a trace file in its own folder: a backup, or one made while the job ran.
#pragma once
#include <optional>
#include <vector>

#include "collector/model/job.h"
#include "trace/result.h"

namespace ddpscope::reading {

// Leaves one file of each process: the one that was not damaged, that knows most, whose name is shortest.
// Says which were left out. What exec made of a process is another one here.
std::optional<Error> leave_out_copies(std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
