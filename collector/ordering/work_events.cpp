// Follows the calls of each thread.
#include "collector/ordering/work_events.h"

#include <limits>

#include "collector/model/rank_variables.h"
#include "trace/process_groups.h"

namespace ddpscope::ordering {

WorkEvents::WorkEvents(const model::Process& process)
    : host_waits_(model::environment_number(process, "TORCH_NCCL_BLOCKING_WAIT").value_or(0) != 0) {}

void WorkEvents::called(const trace::Record& call, std::int64_t begin_ns, std::int64_t end_ns) {
  auto group = trace::payload_of<trace::payload::GroupCollective>(call);
  std::int64_t end = end_ns > begin_ns ? end_ns : std::numeric_limits<std::int64_t>::max();
  latest_[call.thread] = {end, (group.flags & trace::kSynchronous) != 0,
                          trace::operation_of(call.call) == trace::Operation::kGroupBarrier};
}

const WorkEvents::Call* WorkEvents::open_call(std::uint16_t thread, std::int64_t ns) const {
  auto found = latest_.find(thread);
  return found != latest_.end() && ns < found->second.end_ns ? &found->second : nullptr;
}

void WorkEvents::recorded(std::uint64_t event, std::uint16_t thread, std::int64_t ns, std::uint8_t device) {
  if (const Call* call = open_call(thread, ns))
    events_.insert_or_assign(event, Event{*call, thread, device});
  else
    events_.erase(event);
}

Asked WorkEvents::asked(std::uint64_t event, std::uint16_t thread, std::int64_t ns,
                        std::uint8_t current_device, bool done) {
  auto found = events_.find(event);
  if (host_waits_ || found == events_.end() || found->second.thread != thread) return Asked::kWaits;
  Event& known = found->second;
  if (open_call(thread, ns)) return Asked::kStreamWaits;
  if (known.call.synchronous) {
    bool host = known.call.barrier && known.device == current_device;
    return host ? Asked::kWaits : Asked::kStreamWaits;
  }
  if (known.asked_in_vain) return Asked::kWaits;  // asked again and again
  known.asked_in_vain = !done;
  return Asked::kMayWait;
}

}  // namespace ddpscope::ordering
