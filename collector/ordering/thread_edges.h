// Edges between the threads of a process: creation and end, hand-overs, semaphores that processes share.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// When joins had shown that threads were over: ns since the job's start.
using ThreadEnds = std::map<ThreadId, std::int64_t>;

// docs/trace-format.md (Threads and hand-overs) says what the records mean. A mutex is meant as a hand-over
// where a condition wait of any process has given it up, or takes it back; elsewhere it is assumed to be one.
ThreadEnds add_thread_edges(const model::Job& job, Graph& graph);

// What threads may tell each other shows in no call where hand-overs were not recorded, or not all, and,
// between threads that run Python, in variables under the interpreter's lock: whatever one of them did may
// come before what another one does later. The last of all sources: it goes by the nodes that there are.
// Returns these threads.
std::set<ThreadId> add_unseen_hand_overs(const model::Job& job, const std::vector<ThreadId>& judged,
                                         Graph& graph);

}  // namespace ddpscope::ordering
