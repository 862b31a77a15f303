// Ranks of which nothing says that they train one model together, nor that they do not: the last resort of
// who asks for data-parallel groups.
#pragma once
#include <optional>

#include "collector/patterns/gradient_traffic.h"

namespace ddpscope::patterns {

// All ranks with NCCL whose optimizer runs again and again without any reduction, if two or more do. Their
// times are those of the optimizer. Nothing if from a rank's first update on anything but metrics is
// exchanged, by NCCL or over TCP: parts of one model do that, and who averages parameters.
std::optional<DataParallelGroup> find_training_world(const model::Job& job,
                                                     const matching::Collectives& collectives);

}  // namespace ddpscope::patterns
