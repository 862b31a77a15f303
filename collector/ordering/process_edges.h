// Edges between processes that make, become and await each other.
#pragma once
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/thread_edges.h"

namespace ddpscope::ordering {

// fork and spawn -> the child's start, exec -> the program's start, the child's end -> the wait that tells of
// it. A child whose making was not recorded comes after what its parent had done when it first shows, as far
// as recording can show; so does a wait for a child that left no trace, or not until its end, after all that
// `judged` had done by then.
void add_process_edges(const model::Job& job, const std::vector<ThreadId>& judged, Graph& graph);

// What the sender of a signal had done -> what the threads that it can reach do from then on, as far as
// recording can show.
void add_signal_edges(const model::Job& job, const ThreadEnds& ends, Graph& graph);

}  // namespace ddpscope::ordering
