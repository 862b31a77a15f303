// Processes that can tell each other anything through memory that they share.
#pragma once
#include <cstdint>
#include <set>
#include <utility>

#include "collector/model/job.h"

namespace ddpscope::ordering {

// Pairs of processes, the smaller index first, that have mapped one file shared and writable, whatever it is
// for, attached one piece of System V's memory, or have such memory from whoever forked them: what they write
// there shows in no call (messages of MPI on one host, TensorPipe, multiprocessing's shared memory). And
// pairs of which one writes or signals into device memory by a communicator that has both (ncclPutSignal):
// which of the signals ended a wait, if one was waited for, is not followed.
std::set<std::pair<std::uint32_t, std::uint32_t>> find_shared_memory(const model::Job& job);

}  // namespace ddpscope::ordering
