// Threads that serve several clients over TCP and do nothing else.
#pragma once
#include <set>

#include "collector/model/job.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// They receive from and send to at least two accepted connections, and make no calls but on sockets.
std::set<ThreadId> find_servers(const model::Job& job, const StreamEnds& streams);

}  // namespace ddpscope::ordering
