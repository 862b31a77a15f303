// mismatched-collective, of messages: a send and the receive that gets it differ in bytes.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

void detect_mismatched_messages(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
