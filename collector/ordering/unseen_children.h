// Children that left no trace: what they waited for, nobody knows.
#pragma once
#include <optional>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

struct UnseenChild {
  std::optional<std::int64_t> from_ns;  // it waited for nothing that was done before, if that is known
  Span told;                            // the wait that told of its end
};

// What a judged thread had done by the child's end may come before the return of the wait, unless it did
// nothing at all from `from_ns` on: then the child did not wait for it.
void add_unseen_children(const model::Job& job, const std::vector<ThreadId>& judged,
                         const std::vector<UnseenChild>& children, Graph& graph);

}  // namespace ddpscope::ordering
