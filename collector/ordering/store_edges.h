// Order through a key-value store: by key, whatever else its server does.
#pragma once
#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// A request that changes a key -> every later answer to one that names the same key of the same store: a set
// or add
// -> the get, check, wait or add. Earlier and later are the server's, if it was recorded; else what may be
// earlier counts. Where the key of a request is not told, it may be any: unseen.
// The sends and receives of the clients' ends have their nodes.
void add_store_edges(const model::Job& job, const StreamEnds& streams, Graph& graph);

}  // namespace ddpscope::ordering
