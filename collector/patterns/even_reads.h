// Whether ranks have together read every sample equally often.
#pragma once
#include <vector>

#include "collector/model/job.h"
#include "collector/patterns/pass_end.h"

namespace ddpscope::patterns {

// Up to the end of their last stretches, by themselves (no loader workers), in a shuffled order. What is read
// before the first step may be anything: of that the last reads count, as many as there are in the second.
bool read_evenly(const model::Job& job, const std::vector<LastStretch>& done,
                 const std::vector<LastStretch>& going_on);

}  // namespace ddpscope::patterns
