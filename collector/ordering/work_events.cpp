// Follows the events of each thread.
#include "collector/ordering/work_events.h"

#include "collector/model/rank_variables.h"

namespace ddpscope::ordering {

WorkEvents::WorkEvents(const model::Job& job, std::uint32_t process)
    : host_waits_(model::environment_number(job.processes[process], "TORCH_NCCL_BLOCKING_WAIT").value_or(0) !=
                  0),
      calls_(job, process) {}

void WorkEvents::recorded(std::uint64_t event, std::uint16_t thread, std::int64_t ns, std::uint8_t device) {
  if (const GroupCall* call = calls_.at(thread, ns))
    events_.insert_or_assign(event, Event{call, thread, device});
  else
    events_.erase(event);
}

Asked WorkEvents::asked(std::uint64_t event, std::uint16_t thread, std::int64_t ns,
                        std::uint8_t current_device, bool done) {
  auto found = events_.find(event);
  if (host_waits_ || found == events_.end() || found->second.thread != thread) return Asked::kWaits;
  Event& known = found->second;
  if (calls_.at(thread, ns)) return Asked::kStreamWaits;
  if (known.call->synchronous) {
    bool host = known.call->is_barrier() && known.device == current_device;
    return host ? Asked::kWaits : Asked::kStreamWaits;
  }
  if (known.asked_in_vain) return Asked::kWaits;  // asked again and again
  known.asked_in_vain = !done;
  return Asked::kMayWait;
}

}  // namespace ddpscope::ordering
