// By what `ddpscope run` saw of their processes.
#include "collector/patterns/processors.h"

#include <algorithm>
#include <cstdint>

#include "collector/model/order_statistics.h"

namespace ddpscope::patterns {
namespace {

double part_without_processor(const model::Job& job, std::int32_t rank) {
  double part = 0;
  for (const model::Process& process : job.processes) {
    if (process.rank != rank || process.role == model::Role::kLauncher) continue;
    const model::ProcessorWait& wait = process.processor_wait;
    if (wait.last_ticks <= wait.first_ticks) continue;
    double watched_ns =
        static_cast<double>(wait.last_ticks - wait.first_ticks) * job.hosts[process.host].clock.ns_per_tick();
    part += static_cast<double>(wait.waited_ns) / std::max(watched_ns, 1.0);
  }
  return part;
}

}  // namespace

Processors find_processors(const model::Job& job, const std::vector<matching::Member>& members,
                           const std::vector<bool>& is_late) {
  std::vector<double> others;
  double most = 0;
  bool known = true;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const model::ProcessorWait& wait = job.processes[members[m].process].processor_wait;
    known = known && (!is_late[m] || wait.last_ticks > wait.first_ticks);
    double part = part_without_processor(job, members[m].rank);
    if (is_late[m])
      most = std::max(most, part);
    else
      others.push_back(part);
  }
  double typical = model::median(others);
  return {known, std::clamp(most - typical, 0.0, 1.0), std::min(typical, 1.0)};
}

}  // namespace ddpscope::patterns
