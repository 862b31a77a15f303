// Names of files that ranks number wrongly, told as one bug.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Ranks of neighbouring blocks use the same numbers, see patterns::BlockNumbering.
void tell_colliding_numbers(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
