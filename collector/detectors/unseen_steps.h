// What keeps a rank's steps from being seen: why rules about them are silent.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Adds, as reasons to leave `slug` unjudged: steps that are captured in graphs, and an optimizer that is not
// known.
void tell_unseen_steps(const Facts& facts, const char* slug, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
