// hung-collective, of a communicator or process group that is never made: ranks wait in ncclCommInitRank, or
// in init_process_group() and new_group() of PyTorch, for one that does not come.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/open_wait.h"
#include "collector/ordering/stuck_work.h"

namespace ddpscope::detectors {

// Communicators and groups that are not made, as all that came still wait for the others, whether or not for
// long.
std::vector<OpenWait> find_open_creations(const CallFacts& facts, const ordering::StuckWork& stuck);

// Of those the ones that count. The processes that wait in what was found, or to make a group of the same
// name.
std::set<std::uint32_t> detect_hung_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                                             findings::Outcome& outcome);

}  // namespace ddpscope::detectors
