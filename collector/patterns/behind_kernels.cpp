// Kernels are numbered as they are launched, and the communicator's collectives as they are issued; each
// stream knows the last one of both that it comes behind.
#include "collector/patterns/behind_kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "collector/patterns/known_launches.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

struct Cover {
  std::uint64_t kernels = 0;
  std::size_t collectives = 0;

  void join(const Cover& other) {
    kernels = std::max(kernels, other.kernels);
    collectives = std::max(collectives, other.collectives);
  }
};

class Replay {
 public:
  explicit Replay(std::size_t calls) : found_(calls) {}

  void launch(std::uint64_t stream, std::uint8_t device) {
    Cover& covered = covered_[{stream, device}];
    covered.join(known_);
    covered.kernels = ++launched_;
    launches_[{stream, device}].add(issued_, covered.collectives);
    awaited_ = std::max(awaited_, covered.collectives);
    // Later ones run beside this kernel.
    while (!levels_.empty() && levels_.back().ordinal >= covered.collectives) levels_.pop_back();
  }
  void issue(std::size_t ordinal, std::uint64_t stream, std::uint8_t device) {
    bool behind_all = cover(stream, device).kernels == launched_;
    found_[ordinal] = {behind_all, behind_all ? last_level() : 0, std::max(awaited_, known_.collectives)};
    if (behind_all) levels_.push_back({ordinal, launched_});
    issued_ = ordinal + 1;
    covered_[{stream, device}].collectives = issued_;
  }
  void record(const payload::DeviceOrder& order) { events_[order.event] = cover(order.stream, order.device); }
  void await(const payload::DeviceOrder& order) {
    covered_[{order.stream, order.device}].join(events_[order.event]);
  }
  void host_waited(Operation operation, const payload::DeviceOrder& order) {
    known_.join(operation == Operation::kDeviceWait  ? Cover{launched_, issued_}
                : operation == Operation::kEventWait ? events_[order.event]
                                                     : cover(order.stream, order.device));
  }
  std::vector<AmongKernels> take() {
    auto most = std::ranges::max_element(launches_, {}, [](const auto& of) { return of.second.count; });
    if (most != launches_.end()) {
      for (AmongKernels& among : found_) among.holds_up = !most->second.behind_any;
      for (std::size_t ordinal : most->second.held_up_by) found_[ordinal].holds_up = true;
    }
    return std::move(found_);
  }

 private:
  Cover cover(std::uint64_t stream, std::uint8_t device) {
    Cover covered = covered_[{stream, device}];
    covered.join(known_);
    return covered;
  }

  // Into a stream.
  struct Launches {
    std::size_t count = 0;
    std::size_t issued = 0;  // collectives, when the latest was made
    bool behind_any = false;
    std::vector<std::size_t> held_up_by;  // ordinals of those that the next kernel here runs behind

    void add(std::size_t now_issued, std::size_t covered) {
      ++count;
      behind_any |= covered > 0;
      for (; issued < std::min(now_issued, covered); ++issued) held_up_by.push_back(issued);
      issued = now_issued;
    }
  };

  // That runs behind all kernels before it, and every kernel since then behind it.
  struct Level {
    std::size_t ordinal;
    std::uint64_t launched;  // before it
  };
  // Behind which kernels were launched; of those that were handed out since then none has any.
  std::size_t last_level() const {
    auto last = std::find_if(levels_.rbegin(), levels_.rend(),
                             [&](const Level& level) { return level.launched < launched_; });
    return last == levels_.rend() ? 0 : last->ordinal + 1;
  }

  std::vector<AmongKernels> found_;  // by ordinal
  std::vector<Level> levels_;
  std::uint64_t launched_ = 0;
  std::size_t issued_ = 0;   // ordinal + 1 of the latest
  std::size_t awaited_ = 0;  // of those that a kernel runs behind
  Cover known_;              // that the host knows to be done
  std::map<std::pair<std::uint64_t, std::uint8_t>, Cover> covered_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, Launches> launches_;
  std::unordered_map<std::uint64_t, Cover> events_;
};

}  // namespace

std::vector<AmongKernels> find_among_kernels(const model::Job& job, const matching::Collectives& collectives,
                                             const matching::Member& member) {
  std::uint32_t next = collectives.first_of_process[member.process];
  std::uint32_t end = collectives.first_of_process[member.process + 1];
  std::int64_t known_from_ns = launches_known_from(job, member.process);
  Replay replay(member.calls.size());
  constexpr auto kRead =
      trace::OperationSet::range(Operation::kAllReduce, Operation::kReceive) |
      trace::OperationSet{Operation::kLaunch,          Operation::kGraphLaunch, Operation::kEventRecord,
                          Operation::kStreamWaitEvent, Operation::kDeviceWait,  Operation::kStreamWait,
                          Operation::kEventWait};
  auto issue = [&](model::EventPlace place, const Record& record) {
    while (next < end && collectives.calls.form(next).by_graph()) ++next;
    if (next >= end || !collectives.calls.is_at(next, place)) return;  // NCCL refused it
    std::uint32_t call = next++;
    const matching::CallForm& form = collectives.calls.form(call);
    Operation operation = form.signature.operation;
    bool message = operation == Operation::kSend || operation == Operation::kReceive;
    if (message || &collectives.member_of(form) != &member) return;
    if (job.begin_ns(member.process, record) < known_from_ns) return;
    std::size_t ordinal = collectives.ordinal_of(call);
    if (ordinal >= member.calls.size() || member.calls[ordinal] != call) return;  // behind what was lost
    replay.issue(ordinal, form.stream, form.device);
  };
  model::for_each_in_time(job.processes[member.process].file, kRead,
                          [&](model::EventPlace place, const Record& record) {
                            Operation operation = trace::operation_of(record.call);
                            if (operation == Operation::kLaunch) {
                              auto launch = trace::payload_of<payload::Launch>(record);
                              return replay.launch(launch.stream, launch.device);
                            }
                            if (operation <= Operation::kReceive) return issue(place, record);
                            auto order = trace::payload_of<payload::DeviceOrder>(record);
                            if (operation == Operation::kGraphLaunch)
                              return replay.launch(order.stream, order.device);
                            if (operation == Operation::kEventRecord) return replay.record(order);
                            if (operation == Operation::kStreamWaitEvent) return replay.await(order);
                            if (record.end && order.result == 0) replay.host_waited(operation, order);
                          });
  return replay.take();
}

std::vector<AmongKernels> find_among_host_work(const matching::Collectives& groups,
                                               const ordering::DeviceOrder& waits,
                                               const matching::Member& member) {
  std::vector<std::pair<std::int64_t, std::size_t>> known;  // when the host knew it complete; ordinal + 1
  std::vector<AmongKernels> found(member.calls.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    std::int64_t complete_ns = waits.complete_ns(member.calls[k]);
    found[k].behind_all = true;
    found[k].holds_up = complete_ns != ordering::kNever;
    if (found[k].holds_up) known.emplace_back(complete_ns, k + 1);
  }
  std::ranges::sort(known);
  std::size_t next = 0, last = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    std::int64_t begin_ns = groups.begin_ns_at(member, k);
    for (; next < known.size() && known[next].first <= begin_ns; ++next)
      last = std::max(last, known[next].second);
    found[k].level = found[k].awaited = last;
  }
  return found;
}

}  // namespace ddpscope::patterns
