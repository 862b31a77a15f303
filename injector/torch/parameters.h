// Updates that no optimizer names: a loop of the program's own over its parameters, or a step that
// torch.compile has compiled. Both write the parameters in place, which raises their version counters; what
// goes through `parameter.data` does not, nor what FSDP writes to its shards.
#pragma once
#include "injector/torch/hooked_call.h"

namespace ddpscope::injector::torch {

// An optimizer's step that has a name begins.
void note_named_step();

// A backward pass that adds to gradients begins.
void note_pass();

// Before such a pass, and before gradients are set to zero: records that parameters have changed since the
// last pass, if no step was named in between.
void find_update();

}  // namespace ddpscope::injector::torch
