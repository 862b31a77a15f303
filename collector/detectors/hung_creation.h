// hung-collective, of a communicator that is never made: ranks wait in ncclCommInitRank for one that does not
// come.
#pragma once
#include "collector/detectors/detector.h"
#include "collector/ordering/stuck_work.h"

namespace ddpscope::detectors {

void detect_hung_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                          findings::Outcome& outcome);

}  // namespace ddpscope::detectors
