// Where some ranks have come to the end of their data and others begin another step.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/matching/divergence.h"
#include "collector/model/job.h"
#include "collector/patterns/gradient_traffic.h"

namespace ddpscope::patterns {

struct UnevenSteps {
  const matching::Divergence* divergence;
  std::vector<std::int32_t> done, going_on;  // ranks, ascending
  std::size_t steps;                         // of the optimizer, that all of them have made
  bool data_seen;  // of all that are done; else whether theirs is used up is unknown
};

// At the first place at which members of a communicator part that carries gradients: some reduce gradients
// behind a micro-batch, the others run something else, no barrier (that may be one that a rank left out), and
// no micro-batch since their last step, nor do they reduce again. (A micro-batch: nine tenths of the kernels
// that ran before the first reduction of the last step; an evaluation has none of the backward pass.) And
// those others have taken all that their loader workers sent; workers read ahead, so in the middle of an
// epoch more is sent.
std::vector<UnevenSteps> find_uneven_steps(const model::Job& job, const matching::Collectives& collectives,
                                           const matching::Divergences& divergences,
                                           const std::vector<bool>& barriers,
                                           const std::vector<DataParallelGroup>& groups);

}  // namespace ddpscope::patterns
