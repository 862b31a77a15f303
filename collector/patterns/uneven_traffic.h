// Uneven steps of ranks that exchange gradients over TCP.
#pragma once
#include <vector>

#include "collector/patterns/gradient_traffic.h"
#include "collector/patterns/pass_end.h"

namespace ddpscope::patterns {

struct UnevenTraffic {
  std::vector<LastStretch> done, going_on;  // from the last exchange of gradients on; by rank
};

struct UnevenTraffics {
  std::vector<UnevenTraffic> found;
  bool judged = true;  // false: what some group exchanges and reads does not show it
};

// Of groups that a rank left otherwise than with exit code 0, and that hold copies of one model (replicas.h):
// some ranks took data after which they received less than most of what a step's gradients are, sent
// something to their peers and did not end well; all others received all of it after what they took last, and
// then ended well, sent their peers a message or left: gave up their connections to them, unasked, without a
// traceback (a launcher may end them before they have got to their exit); and their data is used up in the
// pass in which the rest goes on (pass_end.h). Whoever fails or is killed sends nothing more. Several batches
// that came with no exchange in between are for as many steps: workers answer out of turn.
UnevenTraffics find_uneven_traffic(const model::Job& job, const std::vector<DataParallelGroup>& groups);

}  // namespace ddpscope::patterns
