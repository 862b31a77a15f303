// Kernels are numbered as they are launched; each stream knows the last one that it comes behind.
#include "collector/patterns/behind_kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

class Replay {
 public:
  void launch(std::uint64_t stream, std::uint8_t device) { covered_[{stream, device}] = ++launched_; }
  void record(const payload::DeviceOrder& order) { events_[order.event] = cover(order.stream, order.device); }
  void await(const payload::DeviceOrder& order) {
    std::uint64_t& covered = covered_[{order.stream, order.device}];
    covered = std::max(covered, events_[order.event]);
  }
  void host_waited(Operation operation, const payload::DeviceOrder& order) {
    std::uint64_t known = operation == Operation::kDeviceWait  ? launched_
                          : operation == Operation::kEventWait ? events_[order.event]
                                                               : cover(order.stream, order.device);
    known_ = std::max(known_, known);
  }
  bool is_behind_all(std::uint64_t stream, std::uint8_t device) { return cover(stream, device) == launched_; }

 private:
  std::uint64_t cover(std::uint64_t stream, std::uint8_t device) {
    return std::max(known_, covered_[{stream, device}]);
  }

  std::uint64_t launched_ = 0;
  std::uint64_t known_ = 0;  // that the host knows to be done
  std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint64_t> covered_;
  std::unordered_map<std::uint64_t, std::uint64_t> events_;
};

}  // namespace

std::vector<bool> find_behind_all_kernels(const model::Job& job, const matching::Collectives& collectives,
                                          std::uint32_t process) {
  std::uint32_t first = collectives.first_of_process[process];
  std::uint32_t end = collectives.first_of_process[process + 1], next = first;
  std::vector<bool> behind(end - first);
  Replay replay;
  constexpr auto kRead =
      trace::OperationSet::range(Operation::kAllReduce, Operation::kReceive) |
      trace::OperationSet{Operation::kLaunch,          Operation::kGraphLaunch, Operation::kEventRecord,
                          Operation::kStreamWaitEvent, Operation::kDeviceWait,  Operation::kStreamWait,
                          Operation::kEventWait};
  model::for_each_in_time(job.processes[process].file, kRead,
                          [&](model::EventPlace place, const Record& record) {
                            Operation operation = trace::operation_of(record.call);
                            if (operation == Operation::kLaunch) {
                              auto launch = trace::payload_of<payload::Launch>(record);
                              return replay.launch(launch.stream, launch.device);
                            }
                            if (operation <= Operation::kReceive) {
                              while (next < end && collectives.calls.form(next).by_graph()) ++next;
                              if (next >= end || !collectives.calls.is_at(next, place)) return;
                              const matching::CallForm& form = collectives.calls.form(next);
                              behind[next - first] = replay.is_behind_all(form.stream, form.device);
                              ++next;
                              return;
                            }
                            auto order = trace::payload_of<payload::DeviceOrder>(record);
                            if (operation == Operation::kGraphLaunch)
                              return replay.launch(order.stream, order.device);
                            if (operation == Operation::kEventRecord) return replay.record(order);
                            if (operation == Operation::kStreamWaitEvent) return replay.await(order);
                            if (record.end && order.result == 0) replay.host_waited(operation, order);
                          });
  return behind;
}

}  // namespace ddpscope::patterns
