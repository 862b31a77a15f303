// Matches what devices did with the calls of each process, in one pass over its NCCL calls.
#include "collector/patterns/collective_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "collector/model/device_work.h"
#include "trace/process_groups.h"

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::DeviceWorkKind;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr DeviceTime kUntimed{0, -1};

bool may_be_collective(DeviceWorkKind kind) {
  return kind == DeviceWorkKind::kCollective || kind == DeviceWorkKind::kKernel;
}

std::uint64_t key_of(EventPlace place) { return std::uint64_t{place.span} << 32 | place.index; }

// The times of one process, by what tells their collectives.
struct Timed {
  std::unordered_map<std::uint64_t, DeviceTime> by_sequence;  // communicator, and sequence << 32
  std::unordered_map<std::uint64_t, DeviceTime> by_call;      // key_of
};

// A group may take several kernels, and one call several parts, each of which is told.
void add_part(std::unordered_map<std::uint64_t, DeviceTime>& times, std::uint64_t key, DeviceTime part) {
  auto [found, fresh] = times.emplace(key, part);
  if (fresh) return;
  found->second.begin_ns = std::min(found->second.begin_ns, part.begin_ns);
  found->second.end_ns = std::max(found->second.end_ns, part.end_ns);
}

Timed read_times(const model::Job& job, std::uint32_t process) {
  Timed timed;
  const model::Process& owner = job.processes[process];
  std::vector<model::DeviceInterval> linked;
  for (const auto& interval : model::device_intervals(job, process, may_be_collective)) {
    bool collective = interval.work.kind == DeviceWorkKind::kCollective;
    if (collective && interval.work.subject)
      add_part(timed.by_sequence, interval.work.subject, {interval.begin_ns, interval.end_ns});
    else if (collective || model::is_nccl_kernel(owner.file, interval.work))
      linked.push_back(interval);
  }
  std::vector<EventPlace> calls = model::calls_of(owner, linked);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] == model::kNoCall) continue;
    add_part(timed.by_call, key_of(calls[i]), {linked[i].begin_ns, linked[i].end_ns});
  }
  return timed;
}

// Of a call of a process group, or what became of it.
template <class Payload>
std::uint64_t key_of(const Payload& data) {
  return std::uint64_t{data.communicator} << 32 | data.sequence;
}

// Those that ended, by their call's key.
std::unordered_map<std::uint64_t, DeviceTime> read_runs(const model::Job& job, std::uint32_t process) {
  constexpr trace::OperationSet kRuns{Operation::kGroupRun, Operation::kGroupCollective,
                                      Operation::kGroupBarrier};
  std::unordered_map<std::uint64_t, DeviceTime> runs;
  model::for_each(job.processes[process].file, kRuns, [&](EventPlace, const Record& record) {
    if (!record.end) return;
    DeviceTime time{job.begin_ns(process, record), job.end_ns(process, record)};
    if (trace::operation_of(record.call) == Operation::kGroupRun)
      return add_part(runs, key_of(trace::payload_of<payload::GroupWork>(record)), time);
    auto call = trace::payload_of<payload::GroupCollective>(record);
    if (call.flags & trace::kBlocking) add_part(runs, key_of(call), time);
  });
  return runs;
}

// Walks the calls of a process as find_collectives() numbered them.
class Assignment {
 public:
  Assignment(const matching::CallTable& calls, std::uint32_t first, std::uint32_t end, const Timed& timed,
             std::vector<DeviceTime>& times)
      : calls_(calls), next_(first), end_(end), timed_(timed), times_(times) {}

  void take(EventPlace place, const Record& record) {
    Operation operation = trace::operation_of(record.call);
    if (operation == Operation::kGroupStart) return begin_group(record);
    if (operation == Operation::kGroupEnd) return end_group(place, record);
    while (next_ < end_ && calls_.form(next_).by_graph()) ++next_;  // is not timed by itself
    if (next_ >= end_ || !calls_.is_at(next_, place)) return;       // NCCL refused it
    std::uint32_t call = next_++;
    auto data = trace::payload_of<payload::Collective>(record);
    auto by_sequence =
        timed_.by_sequence.find(std::uint64_t{data.sequence} << 32 | std::uint64_t{data.communicator});
    if (by_sequence != timed_.by_sequence.end())
      times_[call] = by_sequence->second;
    else if (auto by_call = timed_.by_call.find(key_of(place)); by_call != timed_.by_call.end())
      times_[call] = by_call->second;
    else
      open_[record.thread].push_back(call);
  }

 private:
  void begin_group(const Record& record) {
    if (trace::payload_of<payload::Group>(record).depth == 0) open_[record.thread].clear();
  }
  // What the group's end enqueued took its time together.
  void end_group(EventPlace place, const Record& record) {
    if (trace::payload_of<payload::Group>(record).depth != 0) return;
    std::vector<std::uint32_t>& open = open_[record.thread];
    if (auto found = timed_.by_call.find(key_of(place)); found != timed_.by_call.end())
      for (std::uint32_t call : open) times_[call] = found->second;
    open.clear();
  }

  const matching::CallTable& calls_;
  std::uint32_t next_, end_;
  const Timed& timed_;
  std::vector<DeviceTime>& times_;
  std::map<std::uint16_t, std::vector<std::uint32_t>> open_;  // by thread: calls without a time of their own
};

// What the members of one collective, as far as they were looked at, say of it.
struct MemberTimes {
  std::uint32_t last;  // member of the shortest time
  std::int64_t shortest_ns, longest_ns;
  std::int64_t earliest_end_ns, latest_end_ns;

  void add(std::uint32_t member, const DeviceTime& time) {
    if (time.length_ns() < shortest_ns) shortest_ns = time.length_ns(), last = member;
    longest_ns = std::max(longest_ns, time.length_ns());
    earliest_end_ns = std::min(earliest_end_ns, time.end_ns);
    latest_end_ns = std::max(latest_end_ns, time.end_ns);
  }
  bool end_together(std::int64_t clock_error_ns) const {
    std::int64_t apart_ns = latest_end_ns - earliest_end_ns;
    std::int64_t most_ns = std::max(shortest_ns, (longest_ns - shortest_ns) / 10);
    return apart_ns <= most_ns || apart_ns - most_ns <= 2 * clock_error_ns;
  }
};

std::size_t shortest_length(const std::vector<matching::Member>& members) {
  std::size_t shortest = members.front().calls.size();
  for (const matching::Member& member : members) shortest = std::min(shortest, member.calls.size());
  return shortest;
}

}  // namespace

bool needs_all_members(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kAllGather ||
         operation == Operation::kReduceScatter || operation == Operation::kAllToAll;
}

CollectiveTimes::CollectiveTimes(const model::Job& job, const matching::Collectives& collectives)
    : CollectiveTimes(collectives, false) {
  constexpr auto kCalls = trace::OperationSet::range(Operation::kAllReduce, Operation::kGroupEnd);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    std::uint32_t first = collectives.first_of_process[process];
    std::uint32_t end = collectives.first_of_process[process + 1];
    if (first == end || job.processes[process].file.device_work().empty()) continue;
    Timed timed = read_times(job, process);
    if (timed.by_sequence.empty() && timed.by_call.empty()) continue;
    if (times_.empty()) times_.assign(collectives.calls.size(), kUntimed);
    Assignment assignment(collectives.calls, first, end, timed, times_);
    model::for_each_in_time(job.processes[process].file, kCalls,
                            [&](EventPlace place, const Record& record) { assignment.take(place, record); });
  }
  split_all(job);
}

CollectiveTimes CollectiveTimes::of_runs(const model::Job& job, const matching::Collectives& groups) {
  CollectiveTimes times(groups, true);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    std::uint32_t next = groups.first_of_process[process], end = groups.first_of_process[process + 1];
    if (next == end) continue;
    auto runs = read_runs(job, process);
    if (runs.empty()) continue;
    if (times.times_.empty()) times.times_.assign(groups.calls.size(), kUntimed);
    constexpr trace::OperationSet kCalls{Operation::kGroupCollective, Operation::kGroupBarrier};
    model::for_each_in_time(job.processes[process].file, kCalls, [&](EventPlace place, const Record& record) {
      if (next == end || !groups.calls.is_at(next, place)) return;
      auto run = runs.find(key_of(trace::payload_of<payload::GroupCollective>(record)));
      if (run != runs.end()) times.times_[next] = run->second;
      ++next;
    });
  }
  times.split_all(job);
  return times;
}

void CollectiveTimes::split_all(const model::Job& job) {
  if (!any()) return;
  for (const matching::Communicator& communicator : collectives_.communicators)
    splits_.push_back(split(job, communicator));
}

// Member by member, as each one's calls lie in a row.
std::vector<CollectiveSplit> CollectiveTimes::split(const model::Job& job,
                                                    const matching::Communicator& communicator) const {
  const std::vector<matching::Member>& members = communicator.members;
  bool incomplete = std::any_of(members.begin(), members.end(),
                                [](const matching::Member& member) { return member.incomplete; });
  if (members.size() < 2 || communicator.without_trace() > 0 || incomplete) return {};
  constexpr MemberTimes kUnseen{0, std::numeric_limits<std::int64_t>::max(), 0,
                                std::numeric_limits<std::int64_t>::max(),
                                std::numeric_limits<std::int64_t>::min()};
  std::vector<MemberTimes> seen(shortest_length(members), kUnseen);
  std::vector<bool> comparable(seen.size(), true);
  std::int64_t error_ns = 0;
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    error_ns = std::max(error_ns, job.clock_error_between(members[0].process, members[m].process));
    for (std::size_t k = 0; k < seen.size(); ++k) {
      if (!comparable[k]) continue;
      const DeviceTime* time = of(members[m].calls[k]);
      const matching::Signature& signature = collectives_.signature_at(members[m], k);
      comparable[k] = time && needs_all_members(signature.operation) &&
                      signature == collectives_.signature_at(members[0], k);
      if (comparable[k]) seen[k].add(m, *time);
    }
  }
  std::vector<CollectiveSplit> splits(seen.size(), {kNotKnown, kNotTimed, 0});
  for (std::size_t k = 0; k < seen.size(); ++k)
    if (comparable[k])
      splits[k] = {seen[k].end_together(error_ns) ? seen[k].last : kNotKnown, seen[k].shortest_ns,
                   seen[k].longest_ns};
  return splits;
}

const DeviceTime* CollectiveTimes::of(std::uint32_t call) const {
  return call < times_.size() && times_[call].length_ns() >= 0 ? &times_[call] : nullptr;
}

bool CollectiveTimes::shared(std::uint32_t call) const {
  auto same = [&](std::uint32_t other) {
    return other < times_.size() && times_[other].begin_ns == times_[call].begin_ns &&
           times_[other].end_ns == times_[call].end_ns;
  };
  return of(call) && (same(call - 1) || same(call + 1));
}

const CollectiveSplit* CollectiveTimes::timed(std::uint32_t communicator, std::size_t ordinal) const {
  if (communicator >= splits_.size() || ordinal >= splits_[communicator].size()) return nullptr;
  const CollectiveSplit& split = splits_[communicator][ordinal];
  return split.transfer_ns == kNotTimed ? nullptr : &split;
}

std::optional<CollectiveSplit> CollectiveTimes::split(std::uint32_t communicator, std::size_t ordinal) const {
  const CollectiveSplit* split = timed(communicator, ordinal);
  return split && split->last != kNotKnown ? std::optional(*split) : std::nullopt;
}

std::optional<std::int64_t> CollectiveTimes::shortest_ns(std::uint32_t communicator,
                                                         std::size_t ordinal) const {
  const CollectiveSplit* split = timed(communicator, ordinal);
  return split ? std::optional(split->transfer_ns) : std::nullopt;
}

}  // namespace ddpscope::patterns
