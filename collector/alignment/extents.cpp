// The union over a host's processes.
#include "collector/alignment/extents.h"

#include <algorithm>

namespace ddpscope::alignment {

std::vector<Extent> host_extents(const model::Job& job) {
  std::vector<Extent> extents(job.hosts.size());
  for (const model::Process& process : job.processes) {
    Extent& extent = extents[process.host];
    extent.first_ns = extent.any ? std::min(extent.first_ns, process.first_ns) : process.first_ns;
    extent.last_ns = extent.any ? std::max(extent.last_ns, process.last_ns) : process.last_ns;
    extent.any = true;
  }
  return extents;
}

}  // namespace ddpscope::alignment
