// Which ranks exchange data over TCP with each other: process groups without NCCL, by their connections.
#pragma once
#include <vector>

#include "collector/model/job.h"
#include "collector/patterns/gradient_traffic.h"

namespace ddpscope::patterns {

// Each process group of Gloo has connections of its own, and an all-reduce sends as much over each that it
// uses. So: connections between ranks that carry more than messages, for at least half of the time for which
// their ranks exchange such, fall into classes of about equal amounts; ranks that are connected within a
// class are a group. What is used for a shorter time, or for little, belongs to the group that has both its
// ends (parameters handed out, buffers). Whether a group's ranks hold copies of one model is asked in
// replicas.h. Where no two ends of a connection are found in the traces: all ranks that exchange more than
// messages.
std::vector<DataParallelGroup> find_tcp_groups(const model::Job& job);

}  // namespace ddpscope::patterns
