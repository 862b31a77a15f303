// rank-divergence of jobs that train on the host: by the parameters themselves.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// `groups`: the facts with the calls on process groups. `explain`: whether coverage is to say which ranks'
// copies were not compared, as nothing else compares them.
void detect_parted_copies(const Facts& groups, bool explain, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
