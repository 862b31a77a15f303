// Ranks that look on their own host for what another host's disk has, told as one bug a place.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// See patterns::FileElsewhere (bugs a5 and S5 of the catalogue: RANK 0 writes, where each host needs a
// writer).
void tell_other_disks(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
