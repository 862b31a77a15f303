// Ranks of which nothing says that they train one model together, nor that they do not: the last resort of
// who asks for data-parallel groups.
#pragma once
#include <optional>

#include "collector/patterns/data_parallel_groups.h"

namespace ddpscope::patterns {

// All ranks with NCCL whose optimizer runs again and again without any reduction, if two or more do. Their
// times are those of the optimizer. Nothing if from a rank's first update on anything but metrics is
// exchanged, by NCCL or on a process group of PyTorch, or if ranks send each other more than messages over
// TCP by whatever means: parts of one model do that, and who averages parameters.
std::optional<DataParallelGroup> find_training_world(const model::Job& job,
                                                     const matching::Collectives& collectives);

}  // namespace ddpscope::patterns
