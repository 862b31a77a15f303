// The steps that PyTorch's calls show, with what each calls on process groups: for jobs without a device.
#pragma once
#include <cstdint>

#include "collector/matching/collectives.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// From one optimizer's end to the next one's (framework_steps.h). `groups`: the calls on process groups.
// Entries are these calls alone; there are no kernels and no inputs.
RankSteps find_called_steps(const model::Job& job, const matching::Collectives& groups,
                            std::uint32_t process);

}  // namespace ddpscope::patterns
