// Communicators that grew: those that were in the old one know the new one by that, those that join by a unique
// id.
#pragma once
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::reading {

// Gives the memberships of ncclCommGrow one id for all. What is known of both: the rank that made the unique
// id by ncclCommGetUniqueId called ncclCommGrow on the same communicator next. Source: NCCL's documentation
// of the two.
void unite_grown(std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
