// Processes that left no trace: what they waited for, nobody knows.
#pragma once
#include <optional>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

struct UnseenWork {
  std::optional<std::int64_t> from_ns;  // it waited for nothing that was done before, if that is known
  std::int64_t until_ns;                // when it had waited
  Node told;                            // what comes after it: the return of a wait, the start of a child
  std::optional<ThreadId> by{};         // whose wait it is
  std::int32_t started_by = -1;         // the rank whose own processes come after `told`
};

// Of which the return of this call told.
inline UnseenWork work_told_by(std::optional<std::int64_t> from_ns, const Span& call, Graph& graph) {
  return {from_ns, call.end_ns, graph.after(call), call.thread};
}

// What a judged thread had done by `until_ns`, up to the last call of its process that others can notice, may
// come before `told`, unless the thread did nothing at all from `from_ns` on: then that process did not wait
// for it.
void add_unseen_work(const model::Job& job, const std::vector<ThreadId>& judged,
                     const std::vector<UnseenWork>& unseen, Graph& graph);

}  // namespace ddpscope::ordering
