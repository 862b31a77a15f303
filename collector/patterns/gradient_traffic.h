// Which ranks train one model together, and when each exchanges gradients.
#pragma once
#include <map>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct DataParallelGroup {
  std::map<std::int32_t, std::vector<std::int64_t>>
      reductions_ns;  // of each rank, when they were issued, ascending
};

// With NCCL: the members of a communicator that carries gradient reductions, unless some member reduces on
// several ones (tensor or pipeline parallel peers are given the same samples on purpose, and which
// communicator is which is not known). Without: all ranks that send more than messages of a store or a
// heartbeat to others, over TCP (Gloo, MPI).
std::vector<DataParallelGroup> find_data_parallel_groups(const model::Job& job,
                                                         const matching::Collectives& collectives);

}  // namespace ddpscope::patterns
