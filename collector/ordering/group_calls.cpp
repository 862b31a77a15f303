// Calls of one thread follow each other.
#include "collector/ordering/group_calls.h"

#include <algorithm>

#include "collector/model/enclosing_calls.h"
#include "collector/ordering/device_order.h"
#include "trace/process_groups.h"

namespace ddpscope::ordering {
namespace {

using trace::Operation;

constexpr trace::OperationSet kOfProcessGroups{Operation::kGroupCollective, Operation::kGroupBarrier,
                                               Operation::kGroupPointToPoint};

}  // namespace

GroupCalls::GroupCalls(const model::Job& job, std::uint32_t process) {
  model::for_each(job.processes[process].file, kOfProcessGroups,
                  [&](model::EventPlace, const trace::Record& record) {
                    if (model::is_of_mpi(record.call)) return;
                    auto call = trace::payload_of<trace::payload::GroupCollective>(record);
                    calls_[record.thread].push_back({job.time_ns(process, record.begin),
                                                     record.end ? job.time_ns(process, record.end) : kNever,
                                                     (call.flags & trace::kSynchronous) != 0, record.call});
                  });
  for (auto& [thread, calls] : calls_) std::ranges::stable_sort(calls, {}, &GroupCall::begin_ns);
}

const GroupCall* GroupCalls::at(std::uint16_t thread, std::int64_t ns) const {
  auto own = calls_.find(thread);
  if (own == calls_.end()) return nullptr;
  auto next = std::ranges::upper_bound(own->second, ns, {}, &GroupCall::begin_ns);
  return next != own->second.begin() && ns < (next - 1)->end_ns ? &*(next - 1) : nullptr;
}

}  // namespace ddpscope::ordering
