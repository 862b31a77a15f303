// Ranks that are started and do nothing, while others of their job train.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/patterns/trainings.h"

namespace ddpscope::detectors {

// Those that are there for at least half of the training and neither launch a kernel, nor take part in a
// collective, nor read 32 samples, nor write a file of 4 KiB. Empty if this does not hold for each rank
// without a training: who works in another way (evaluates, serves data) is not idle, who fails at once would
// not stay so.
std::vector<std::int32_t> find_idle_ranks(const Facts& facts,
                                          const std::vector<patterns::Training>& trainings);

// Nothing connects them with those that train.
findings::Finding tell_idle_ranks(const Facts& facts, const std::vector<patterns::Training>& trainings,
                                  const std::vector<std::int32_t>& idle);

}  // namespace ddpscope::detectors
