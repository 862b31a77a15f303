// How long hosts take until they launch again.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"
#include "collector/patterns/stretch.h"

namespace ddpscope::patterns {

// For each stretch, of which none overlaps another, by time: from its begin to the first launch of the
// process in it, or to its end.
std::vector<std::int64_t> gaps_before_launches(const model::Job& job, std::uint32_t process,
                                               const std::vector<Stretch>& stretches);

}  // namespace ddpscope::patterns
