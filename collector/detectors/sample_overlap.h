// How far ranks train on the same samples.
#pragma once
#include <vector>

#include "collector/patterns/training_reads.h"

namespace ddpscope::detectors {

constexpr std::size_t kEnoughItems = 32;  // fewer agree by chance, or are configuration

// Rule D1: of the different items that two ranks read, worker by worker, at least 90 % are the same and come
// in the same order. What one of them reads besides takes nothing away.
bool same_order(const patterns::TrainingReads& a, const patterns::TrainingReads& b);

// Rule D2: every rank goes through at least 90 % of all that any rank ever reads before it begins anew, and
// then goes on. Parts that are dealt out anew in each epoch add up to that as well, but do not meet: over
// what would be a rank's part, the ranks must meet half as often as independent orders do at least.
bool each_reads_all(const std::vector<patterns::TrainingReads>& ranks);

}  // namespace ddpscope::detectors
