// What the reductions of a step cost beyond the one that is needed.
#pragma once
#include <optional>

#include "collector/detectors/detector.h"
#include "collector/patterns/reduction_habits.h"

namespace ddpscope::detectors {

// Time that a step would be shorter if each made the last of its sets only: the median over stretches of
// steps, replayed as they were and without the other sets. Stretches go from one time at which the host knew
// on each rank that all reductions of a step were complete, before it issued the next, to another one.
// Nothing where hosts never wait so, or the link is not known.
std::optional<double> saved_ns_per_step(const Facts& facts, const patterns::RepeatedHabit& habit);

}  // namespace ddpscope::detectors
