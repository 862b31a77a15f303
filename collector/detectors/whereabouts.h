// What a rank does, or how it ended, while its peers wait for it.
#pragma once
#include <optional>
#include <string>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::detectors {

struct Whereabouts {
  std::string sentence;                   // "it has been inside socket_read since 1.300 s"
  std::optional<model::EventRef> event;   // the call that says so
  std::optional<model::EventRef> traced;  // of the main thread: the last call with a stack
  bool inside = false;                    // it has not come back from the call
};

// Of the process that is `member`, when its peers have been waiting since `waited_from_ns`. The call that its
// main thread (the one that issues its collectives) is inside of comes first: a rank that is stuck is ended
// by a watchdog in the end, which tells less. Then its exit, or the signal that its parent was told of, else
// its last call.
Whereabouts find_whereabouts(const model::Job& job, const matching::Collectives& collectives,
                             const matching::Member& member, std::int64_t waited_from_ns);

}  // namespace ddpscope::detectors
