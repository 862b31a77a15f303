// The finding of ranks that wait for each other in several communicators.
#pragma once
#include "collector/detectors/hang_causes.h"

namespace ddpscope::detectors {

// `cause` is a circle. At fault are the ranks that issue the calls in another order than most; all of the
// circle if there is no such majority.
findings::Finding tell_circle(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCause& cause);

}  // namespace ddpscope::detectors
