// Where some ranks have come to the end of their data and others begin another step.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/matching/divergence.h"
#include "collector/model/job.h"
#include "collector/patterns/data_parallel_groups.h"

namespace ddpscope::patterns {

struct UnevenSteps {
  const matching::Divergence* divergence;
  std::vector<std::int32_t> done, going_on;  // ranks, ascending
  std::size_t steps;                         // of the optimizer, that all of them have made
  bool data_seen;  // of all that are done; else whether theirs is used up is unknown
};

// At the first place at which members of a communicator part that carries gradients: some reduce gradients
// behind a micro-batch, the others run something else, be it a barrier, and no micro-batch since their last
// step, nor do they reduce again. (A micro-batch: nine tenths of the kernels that ran before the first
// reduction of the last step; an evaluation has none of the backward pass.) And the data of those others is
// used up in the pass in which the rest goes on (pass_end.h); where some is left, nothing is found.
std::vector<UnevenSteps> find_uneven_steps(const model::Job& job, const matching::Collectives& collectives,
                                           const matching::Divergences& divergences,
                                           const std::vector<DataParallelGroup>& groups);

}  // namespace ddpscope::patterns
