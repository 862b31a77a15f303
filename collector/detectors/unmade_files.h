// Files that a rank failed for and that nobody made before the job was ended.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// A rank that is ended because another one failed may have been about to make the file: nothing shows it, and
// no order is missing between two calls of which one was never made. It is said, for missing-barrier.
void add_unmade_files(const Facts& facts, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
