// From when to when the hosts of a job did anything.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::alignment {

// ns of the host's own time, as placed so far.
struct Extent {
  std::int64_t first_ns = 0, last_ns = 0;
  bool any = false;  // it has a process
};

// By host, from its processes' first and last moments.
std::vector<Extent> host_extents(const model::Job& job);

}  // namespace ddpscope::alignment
