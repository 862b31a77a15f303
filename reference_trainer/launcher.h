// Starts the ranks of a job on this machine.
#pragma once

#include "arguments.h"

namespace reference_trainer {

// Runs this program once more for each rank, with the same arguments and RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set. Forwards signals, waits for all ranks and returns the
// worst of their exit codes (128 + signal number for one that was killed).
int launch_ranks(const Arguments& arguments, char** argv);

}  // namespace reference_trainer
