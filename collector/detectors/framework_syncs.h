// How DistributedDataParallel reduces gradients in most steps of a rank, by PyTorch's own calls: on any
// backend.
#pragma once
#include <string_view>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Several backward passes of one place in the program are reduced, before one optimizer step uses them. Ranks
// that a finding of that slug already names are left out.
void tell_repeated_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// The last pass through the wrapper before the optimizer's step is not reduced, though an earlier one is.
void tell_early_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// Whether all ranks were seen to take steps with such reductions: then the absence of both means something.
bool reduces_by_framework(const Facts& facts);

}  // namespace ddpscope::detectors
