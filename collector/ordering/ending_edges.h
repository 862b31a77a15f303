// The end of a stream: who finds it comes after all who could have sent.
#pragma once
#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// What a process did before it gave up the other end (close, shutdown), or all it did, if it ended first ->
// the receive that finds the stream's end. A process that may have held that end, though nothing shows it:
// unseen. That is a child of one that did, and any process, if nobody shows who does and the stream was
// inherited from outside the trace.
void add_ending_edges(const model::Job& job, const StreamEnds& streams, Graph& graph);

}  // namespace ddpscope::ordering
