// Pipes that have a name: who opens one end waits for somebody to open the other.
#pragma once
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// The begin of an opening -> the return of one of the other direction. Which of several it was that let the
// caller go on shows in no call: then unseen, but for what the first of them orders if all are one thread's.
// Where nobody recorded has opened the other end, a program without a trace has.
void add_opening_edges(const model::Job& job, const std::vector<ThreadId>& judged, const StreamEnds& streams,
                       Graph& graph);

}  // namespace ddpscope::ordering
