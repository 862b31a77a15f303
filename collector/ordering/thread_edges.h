// Edges between the threads of a process: creation and end, hand-overs, semaphores that processes share.
#pragma once
#include <set>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// docs/trace-format.md (Threads and hand-overs) says what the records mean. A mutex is meant as a hand-over
// where a condition wait of any process has given it up, or takes it back; elsewhere it is assumed to be one.
void add_thread_edges(const model::Job& job, Graph& graph);

// For processes in which hand-overs were not recorded, or not all: whatever a thread did may come before what
// another one does later. The last of all sources: it goes by the nodes that there are. Returns the processes
// of which this is true as a whole.
std::set<std::uint32_t> add_unseen_hand_overs(const model::Job& job, const std::vector<ThreadId>& judged,
                                              Graph& graph);

}  // namespace ddpscope::ordering
