// Edges of sockets and pipes.
#pragma once
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// The send of byte n -> the receive that returns byte n; the connect -> its accept, the listen -> the
// connect. Of peers outside the trace it is assumed that they hand on what they are told. In a thread that
// serves connections and does nothing else requests of different clients have nothing to do with each other:
// its sends come after what came on the same connection, and after the last request if that was another
// client's (a push). Connections to a key-value store order by key (store_edges.h).
// What comes out of a pipe or pair of which nobody recorded holds the other end may be what a child without a
// trace knows: anything that `judged` had done by then. Returns the runs of calls through which ranks talk to
// each other: where hand-overs between threads are not recorded, what another thread of the process did in
// the midst of one may have gone with it.
std::vector<Span> add_stream_edges(const model::Job& job, const std::vector<ThreadId>& judged, Graph& graph);

}  // namespace ddpscope::ordering
