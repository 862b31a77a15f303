// Children that left no trace: what they waited for, nobody knows.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

struct UnseenChild {
  std::string_view program;             // path; empty: not known
  std::optional<std::int64_t> from_ns;  // since when it ran unseen, if that is known
  Span told;                            // the wait that told of its end
};

// What a judged thread had done by the child's end may come before the return of the wait, unless it did
// nothing at all while the child ran: then the child did not wait for it. Of a shell, and of a program that
// is not known, all is taken: what a script asks for may have been there already, and it would have waited.
void add_unseen_children(const model::Job& job, const std::vector<ThreadId>& judged,
                         const std::vector<UnseenChild>& children, Graph& graph);

}  // namespace ddpscope::ordering
