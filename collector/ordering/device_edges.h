// Edges that NCCL and CUDA make: host to stream, between the streams of a collective's members, stream to the
// host that waits, and the making of communicators.
#pragma once
#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

void add_device_edges(const model::Job& job, const matching::Collectives& collectives,
                      const DeviceOrder& device_order, Graph& graph);
void add_communicator_edges(const model::Job& job, const matching::Collectives& collectives, Graph& graph);

}  // namespace ddpscope::ordering
