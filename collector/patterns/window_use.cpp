// One pass over the process's calls, one over its kernels.
#include "collector/patterns/window_use.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "collector/model/cuda_types.h"
#include "collector/model/device_work.h"
#include "collector/ordering/device_replay.h"
#include "trace/hand_overs.h"

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using ordering::kDeviceWaits;
using trace::Operation;
using trace::Record;

constexpr trace::OperationSet kWaits{Operation::kHandOver,        Operation::kSharedWait,
                                     Operation::kExchangeReceive, Operation::kStreamReceive,
                                     Operation::kWaitChild,       Operation::kThreadJoin};
constexpr trace::OperationSet kFileCalls{
    Operation::kOpen,   Operation::kClose,  Operation::kRead,          Operation::kWrite,
    Operation::kSync,   Operation::kStat,   Operation::kAccess,        Operation::kTransfer,
    Operation::kRename, Operation::kUnlink, Operation::kOpenDirectory, Operation::kReadDirectory,
    Operation::kLock,   Operation::kMap,    Operation::kTruncate,      Operation::kListing};

constexpr trace::OperationSet kLaunches{Operation::kLaunch, Operation::kGraphLaunch};
// Launches and collectives return late where the queue of launches is full, polls take long together.
constexpr trace::OperationSet kDeviceCalls =
    trace::OperationSet::range(Operation::kAllReduce, Operation::kGroupEnd) | kLaunches |
    trace::OperationSet{Operation::kCopy,     Operation::kFill,       Operation::kFree,
                        Operation::kAllocate, Operation::kEventQuery, Operation::kStreamQuery};

bool is_kernel(trace::DeviceWorkKind kind) { return kind == trace::DeviceWorkKind::kKernel; }

std::unordered_set<std::uint16_t> training_threads(const trace::TraceFile& file,
                                                   const matching::Collectives& collectives,
                                                   const matching::Member& member) {
  std::unordered_set<std::uint16_t> threads{model::kMainThread};
  for (std::uint32_t call : member.calls) threads.insert(collectives.calls.form(call).thread);
  for (const trace::OperationSet& wanted : {kLaunches, kDeviceWaits}) {
    std::unordered_map<std::uint16_t, std::uint64_t> calls;
    std::uint64_t all = 0;
    model::for_each(file, wanted, [&](EventPlace, const Record& record) {
      std::uint64_t folded = model::folded_calls(record, *trace::find_call(record.call));
      calls[record.thread] += folded;
      all += folded;
    });
    for (auto [thread, count] : calls)
      if (count * 4 >= all) threads.insert(thread);
  }
  return threads;
}

bool is_reducers_wait(const Record& record) {
  return record.call == static_cast<std::uint16_t>(trace::Call::reducer_finish);
}

// To the host, behind what the device has to do; one to the device takes as long itself. Not of a run of
// copies: the host may have done anything between them.
bool reads_back(const Record& record) {
  return ordering::is_synchronous_copy(record.call) &&
         trace::payload_of<trace::payload::Copy>(record).kind == model::kDeviceToHost &&
         model::folded_calls(record, *trace::find_call(record.call)) == 1;
}

// A wait for a condition is recorded when it is over, with its length.
std::int64_t begin_of_wait(const model::Job& job, std::uint32_t process, const Record& record) {
  auto taken = trace::payload_of<trace::payload::HandOver>(record);
  auto kind = static_cast<trace::HandOverKind>(taken.kind);
  bool tells = kind == trace::HandOverKind::kCondition || kind == trace::HandOverKind::kFutex;
  if (!tells || !taken.from_thread) return job.begin_ns(process, record);
  std::uint64_t ticks = std::uint64_t{taken.number} << trace::kWaitedShift;
  return job.time_ns(process, record.begin - std::min(ticks, record.begin));
}

// Adds up stretches that come by begin, those that overlap once.
class Uses {
 public:
  explicit Uses(std::span<const MemberWindow> windows) : windows_(windows), result_(windows.size()) {
    for (WindowUse& use : result_) use.longest.fill(model::kNoCall);
    until_.fill(std::numeric_limits<std::int64_t>::min());
  }

  void add(Use use, std::int64_t begin_ns, std::int64_t end_ns, EventPlace place) {
    auto kind = static_cast<std::size_t>(use);
    std::int64_t from_ns = std::max(begin_ns, until_[kind]);
    until_[kind] = std::max(until_[kind], end_ns);
    auto next = std::upper_bound(
        windows_.begin(), windows_.end(), begin_ns,
        [use](std::int64_t ns, const MemberWindow& window) { return ns < until_ns(window, use); });
    for (; next != windows_.end() && next->from_ns < end_ns; ++next) {
      std::int64_t to_ns = until_ns(*next, use);
      auto window = static_cast<std::size_t>(next - windows_.begin());
      WindowUse& found = result_[window];
      found.ns[kind] += std::max<std::int64_t>(std::min(end_ns, to_ns) - std::max(from_ns, next->from_ns), 0);
      std::int64_t inside_ns = std::min(end_ns, to_ns) - std::max(begin_ns, next->from_ns);
      if (longest_ns_.size() <= window) longest_ns_.resize(window + 1);
      if (inside_ns <= longest_ns_[window][kind]) continue;
      longest_ns_[window][kind] = inside_ns;
      found.longest[kind] = place;
    }
  }
  std::vector<WindowUse> take() { return std::move(result_); }

 private:
  static std::int64_t until_ns(const MemberWindow& window, Use use) {
    if (use == Use::kCompute) return window.over_ns;
    return use == Use::kInput || use == Use::kFiles ? window.came_ns : window.issued_ns;
  }

  std::span<const MemberWindow> windows_;
  std::vector<WindowUse> result_;
  std::vector<std::array<std::int64_t, kUses>> longest_ns_;
  std::array<std::int64_t, kUses> until_{};
};

}  // namespace

std::vector<WindowUse> read_window_uses(const model::Job& job, const matching::Collectives& collectives,
                                        const matching::Member& member,
                                        std::span<const MemberWindow> windows) {
  Uses uses(windows);
  if (windows.empty()) return uses.take();
  const trace::TraceFile& file = job.processes[member.process].file;
  std::unordered_set<std::uint16_t> threads = training_threads(file, collectives, member);
  std::int64_t from_ns = windows.front().from_ns, to_ns = windows.back().over_ns;
  std::map<std::uint16_t, std::int64_t> idle_from;       // by thread: when its last call was over
  std::map<std::uint16_t, std::int64_t> in_group_until;  // likewise, its last wait for a process group
  model::for_each_in_time(file, [&](EventPlace place, const Record& record) {
    std::int64_t begin_ns = job.begin_ns(member.process, record);
    if (begin_ns >= to_ns || !threads.contains(record.thread)) return;
    std::int64_t end_ns = job.end_ns(member.process, record);
    std::int64_t before_ns = std::exchange(idle_from[record.thread], end_ns);
    if (end_ns <= from_ns) return;
    Operation operation = trace::operation_of(record.call);
    // Who polls before it receives waits in a call that is not recorded.
    bool polled = operation == Operation::kStreamReceive && (end_ns - begin_ns) * 10 < begin_ns - before_ns;
    if (polled) begin_ns = std::min(begin_ns, std::max(before_ns, from_ns));
    if (operation == Operation::kHandOver) {
      if (threads.contains(trace::payload_of<trace::payload::HandOver>(record).from_thread)) return;
      begin_ns = std::min(begin_ns, begin_of_wait(job, member.process, record));
    }
    bool waits = kDeviceWaits.has(operation) || reads_back(record);
    if (waits) uses.add(Use::kDeviceWaits, begin_ns, end_ns, place);
    if (waits || kDeviceCalls.has(operation)) uses.add(Use::kDeviceCalls, begin_ns, end_ns, place);
    // Waiting there is part of the collective.
    if (operation == Operation::kGroupWait || is_reducers_wait(record))
      in_group_until[record.thread] = end_ns;
    bool for_others = job.begin_ns(member.process, record) < in_group_until[record.thread];
    if (kWaits.has(operation) && !for_others) uses.add(Use::kInput, begin_ns, end_ns, place);
    if (kFileCalls.has(operation)) uses.add(Use::kFiles, begin_ns, end_ns, place);
  });
  for (const model::DeviceInterval& kernel : model::device_intervals(job, member.process, is_kernel)) {
    if (model::is_nccl_kernel(file, kernel.work)) continue;
    uses.add(Use::kCompute, kernel.begin_ns, kernel.end_ns, model::kNoCall);
  }
  return uses.take();
}

bool kernels_are_timed(const model::Job& job, std::uint32_t process) {
  for (const trace::DeviceSpan& span : job.processes[process].file.device_work())
    for (const trace::DeviceWork& work : span.work)
      if (is_kernel(work.kind)) return true;
  return false;
}

}  // namespace ddpscope::patterns
