// How long ranks waited for a processor that others had.
#pragma once
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

// Of the members of a communicator, as parts of the time in which they and their workers were watched: more
// than one if several threads wait at once.
struct Processors {
  bool known;      // of those that are late
  double beyond;   // that a late member waited beyond a typical one, 1 at most
  double typical;  // that a typical one waited, likewise
};

Processors find_processors(const model::Job& job, const std::vector<matching::Member>& members,
                           const std::vector<bool>& is_late);

}  // namespace ddpscope::patterns
