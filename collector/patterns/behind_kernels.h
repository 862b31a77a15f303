// Which collectives run behind every kernel that was launched before them, so that none of these can hide
// them.
#pragma once
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

// By call of the process, from the first on. True only if it follows from streams, events and waits of the
// host; what the legacy stream orders without any event does not count.
std::vector<bool> find_behind_all_kernels(const model::Job& job, const matching::Collectives& collectives,
                                          std::uint32_t process);

}  // namespace ddpscope::patterns
