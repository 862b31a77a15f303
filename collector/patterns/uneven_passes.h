// Uneven steps of ranks that train together by PyTorch's own calls, whatever carries their gradients.
#pragma once
#include <cstddef>
#include <vector>

#include "collector/patterns/data_parallel_groups.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/pass_end.h"

namespace ddpscope::patterns {

// Of one rank: where it parts from the others.
struct Parting {
  LastStretch stretch;
  model::EventRef event;  // of who goes on: the backward pass; of who is done: its last call on a process
                          // group, or its exit
};

struct UnevenPasses {
  std::vector<Parting> done, going_on;  // by rank
  std::size_t steps = 0;                // of the optimizer, that all of them have made
  bool data_seen = false;               // of all that are done; else whether theirs is used up is unknown
};

// Of groups that PyTorch's calls name: all ranks have made the same number of steps. Some began another
// backward pass, which threw or never came back. The others began none, and left without a traceback: they
// ended well, destroyed a process group, or called an operation on one that never came to a good end. Their
// data is used up in the pass in which the rest goes on (pass_end.h); where some is left, nothing is found.
// `steps`: by process.
std::vector<UnevenPasses> find_uneven_passes(const model::Job& job, const std::vector<FrameworkSteps>& steps,
                                             const std::vector<DataParallelGroup>& groups);

}  // namespace ddpscope::patterns
