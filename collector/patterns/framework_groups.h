// Which ranks train one model together, as PyTorch's own calls name it.
#pragma once
#include <vector>

#include "collector/patterns/data_parallel_groups.h"
#include "collector/patterns/framework_steps.h"

namespace ddpscope::patterns {

// The ranks of each process group on which DistributedDataParallel or FSDP reduces gradients again and again.
// If there is none: those of each on which the program itself reduces between backward pass and optimizer,
// and not within passes, too. If there is none of these either: all ranks whose wrapped models are never
// reduced; their times are those of the optimizer.
// `steps`: by process.
std::vector<DataParallelGroup> find_framework_groups(const model::Job& job,
                                                     const std::vector<FrameworkSteps>& steps);

}  // namespace ddpscope::patterns
