// What this machine says of a job's processes, beside their trace. Only looks: /proc, never the process.
#pragma once
#include <cstdint>

#include "collector/model/job.h"

namespace ddpscope::live {

struct Seen {
  model::Life life = model::Life::kNotAsked;
  std::int64_t cpu_ns = 0;  // that all its threads have used
};

// kNotAsked if it is of another host, kGone if none with this pid and start time is here.
Seen see(const trace::FileHeader& header, std::uint64_t host_id);

}  // namespace ddpscope::live
