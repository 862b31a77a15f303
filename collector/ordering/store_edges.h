// Order through a key-value store: by key, whatever else its server does.
#pragma once
#include <map>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// A request that changes a key -> every later answer to one that names the same key of the same store: a set
// or add
// -> the get, check, wait or add. Earlier and later are the server's, if it was recorded; else what may be
// earlier counts. Where the key of a request is not told, it may be any: unseen.
// `nodes`: of each send and receive on the clients' ends.
void add_store_edges(const model::Job& job, const StreamEnds& streams,
                     const std::map<const Transfer*, Node>& nodes, Graph& graph);

}  // namespace ddpscope::ordering
