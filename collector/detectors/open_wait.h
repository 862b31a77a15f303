// Ranks of a job that still runs, who wait for others that do not come, by other means than a collective.
#pragma once
#include <cstdint>
#include <map>

#include "collector/findings/finding.h"

namespace ddpscope::detectors {

struct OpenWait {
  findings::Finding finding;                              // of hung-collective; ranks are those at fault
  std::map<std::int32_t, std::uint32_t> waiting, silent;  // processes by rank; silent: those that are known
  std::int64_t waited_ns = 0, needed_ns = 0;              // from needed_ns on it counts
};

}  // namespace ddpscope::detectors
