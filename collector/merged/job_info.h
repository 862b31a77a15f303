// What `ddpscope info` says of a trace: what it holds, by process, how it falls into steps, what recording
// lost, and what collectives took. A merged file keeps it as text.
#pragma once
#include <string>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/collective_times.h"

namespace ddpscope::merged {

std::string info_of(const model::Job& job, const matching::Collectives& collectives,
                    const patterns::CollectiveTimes& times);

}  // namespace ddpscope::merged
