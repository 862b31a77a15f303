// Edges that collectives of MPI make: on one host its ranks talk through memory that they share, which shows
// in no call. Those of Gloo show as what they send.
#pragma once
#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

void add_group_edges(const model::Job& job, Graph& graph);

}  // namespace ddpscope::ordering
