// One pass over the process's collectives and one over its sockets.
#include "collector/patterns/foreign_waits.h"

#include <algorithm>
#include <unordered_set>

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr std::size_t kShape = 256;  // calls

bool is_message(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kReceive;
}

}  // namespace

ForeignWaits::ForeignWaits(const model::Job& job, const matching::Collectives& collectives,
                           const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                           std::uint32_t communicator, const matching::Member& member) {
  add_calls(collectives, device_order, times, communicator, member);
  add_receiving(job, collectives, member);
  join();
}

void ForeignWaits::add_calls(const matching::Collectives& collectives,
                             const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                             std::uint32_t communicator, const matching::Member& member) {
  std::uint32_t end = collectives.first_of_process[member.process + 1];
  for (std::uint32_t call = collectives.first_of_process[member.process]; call < end; ++call) {
    const matching::CallForm& form = collectives.calls.form(call);
    bool message = is_message(form.signature.operation);
    bool alone = collectives.communicators[form.communicator].size < 2;
    if (alone || (form.communicator == communicator && !message)) continue;
    if (shape_.size() < kShape) shape_.push_back(form.signature.operation);
    if (const DeviceTime* time = times.of(call)) {
      waits_.push_back({time->begin_ns, time->end_ns});
      continue;
    }
    untimed_ns_.push_back(collectives.calls.begin_ns(call));
    std::uint32_t wait = device_order.completions[call].wait;
    if (wait != matching::kNone)
      waits_.push_back({device_order.waits[wait].begin_ns, device_order.waits[wait].end_ns});
  }
  std::sort(untimed_ns_.begin(), untimed_ns_.end());
}

// Others than these threads may wait for messages all day long.
void ForeignWaits::add_receiving(const model::Job& job, const matching::Collectives& collectives,
                                 const matching::Member& member) {
  std::unordered_set<std::uint16_t> threads{model::kMainThread};
  for (std::uint32_t call : member.calls) threads.insert(collectives.calls.form(call).thread);
  std::unordered_set<std::uint64_t> network;  // sockets
  constexpr trace::OperationSet kSockets{Operation::kConnect, Operation::kAccept, Operation::kStreamReceive};
  model::for_each_in_time(
      job.processes[member.process].file, kSockets, [&](model::EventPlace, const Record& record) {
        if (trace::operation_of(record.call) != Operation::kStreamReceive)
          network.insert(trace::payload_of<payload::Connection>(record).inode);
        else if (threads.contains(record.thread) &&
                 network.contains(trace::payload_of<payload::StreamIo>(record).inode))
          waits_.push_back({job.begin_ns(member.process, record), job.end_ns(member.process, record)});
      });
}

void ForeignWaits::join() {
  std::sort(waits_.begin(), waits_.end(),
            [](const Wait& a, const Wait& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Wait> joined;
  for (const Wait& wait : waits_) {
    if (joined.empty() || wait.begin_ns > joined.back().end_ns)
      joined.push_back(wait);
    else
      joined.back().end_ns = std::max(joined.back().end_ns, wait.end_ns);
  }
  waits_ = std::move(joined);
}

std::int64_t ForeignWaits::within(std::int64_t from_ns, std::int64_t to_ns) const {
  auto next = std::upper_bound(waits_.begin(), waits_.end(), from_ns,
                               [](std::int64_t ns, const Wait& wait) { return ns < wait.end_ns; });
  std::int64_t sum = 0;
  for (; next != waits_.end() && next->begin_ns < to_ns; ++next)
    sum += std::max<std::int64_t>(std::min(next->end_ns, to_ns) - std::max(next->begin_ns, from_ns), 0);
  return sum;
}

std::size_t ForeignWaits::untimed_within(std::int64_t from_ns, std::int64_t to_ns) const {
  auto from = std::lower_bound(untimed_ns_.begin(), untimed_ns_.end(), from_ns);
  return static_cast<std::size_t>(std::lower_bound(from, untimed_ns_.end(), to_ns) - from);
}

}  // namespace ddpscope::patterns
