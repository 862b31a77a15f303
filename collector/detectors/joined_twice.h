// Tells of processes that join one group under one number.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

void tell_joined_twice(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
