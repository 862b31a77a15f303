// How DistributedDataParallel and FSDP reduce gradients in most steps of a rank, by PyTorch's own calls: on
// any backend.
#pragma once
#include <string>
#include <string_view>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Several backward passes of one place in the program are reduced, before one optimizer step uses them. Ranks
// that a finding of that slug already names are left out.
void tell_repeated_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// What to do about such, and about such reductions of NCCL. `sharded`: they are FSDP's.
std::string advice_on_repeating(bool sharded);

// The last pass of a step that adds to a reducer's gradients is not reduced, though an earlier one is.
void tell_early_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// Steps that reduce nothing, of a model that others reduce: often those of the last, shorter group of
// micro-batches of an epoch.
void tell_steps_left_out(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// Optimizers run on gradients of a wrapped model that no pass reduces, and nothing else is exchanged.
void tell_unreduced_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// Whether all ranks were seen to take steps with gradients of wrapped models: then the absence of all these
// means something.
bool trains_by_framework(const Facts& facts);

}  // namespace ddpscope::detectors
