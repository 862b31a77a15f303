// Waits name their operation by communicator and sequence; the reducer waits for all that it called since its
// last wait.
#include "collector/ordering/group_waits.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "collector/model/enclosing_calls.h"
#include "trace/process_groups.h"

namespace ddpscope::ordering {
namespace {

using matching::kNone;
using model::EventPlace;
using trace::Call;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

std::uint64_t key_of(std::uint32_t communicator, std::uint32_t sequence) {
  return std::uint64_t{communicator} << 32 | sequence;
}

// Of processes that failed: when they left a group of theirs, or ended; by process and number of the group.
using Departures = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

Departures find_departures(const model::Job& job, const matching::Collectives& groups) {
  Departures departures;
  for (const matching::Communicator& group : groups.communicators)
    for (const matching::Member& member : group.members) {
      const model::Process& process = job.processes[member.process];
      if (process.has_ended() && !process.ended_well())
        departures[{member.process, member.number}] = process.last_ns;
    }
  for (auto& [of, left_ns] : departures)
    model::for_each(job.processes[of.first].file, {Operation::kProcessGroupEnd},
                    [&](EventPlace, const Record& record) {
                      if (trace::payload_of<payload::ProcessGroup>(record).communicator == of.second)
                        left_ns = std::min(left_ns, job.begin_ns(of.first, record));
                    });
  return departures;
}

class ProcessWaits {
 public:
  ProcessWaits(const model::Job& job, const matching::Collectives& groups, const Departures& departures,
               std::uint32_t process, DeviceOrder& out)
      : job_(job),
        groups_(groups),
        departures_(departures),
        process_(process),
        first_(groups.first_of_process[process]),
        completions_(groups.first_of_process[process + 1] - first_),
        next_(first_),
        out_(out) {}

  void read() {
    constexpr trace::OperationSet kRecords{Operation::kGroupCollective, Operation::kGroupBarrier,
                                           Operation::kGroupWait, Operation::kGradientReducer};
    model::for_each_in_time(job_.processes[process_].file, kRecords,
                            [&](EventPlace place, const Record& record) { take(place, record); });
    for (const Completion& completion : completions_) out_.completions.push_back(completion);
  }

 private:
  void take(EventPlace place, const Record& record);
  void take_call(EventPlace place, const Record& record);
  void cover(std::uint32_t call, std::uint32_t wait);
  bool is_broken(std::uint32_t call, const Record& wait) const;
  std::uint32_t add_wait(EventPlace place, const Record& record, bool failed);

  const model::Job& job_;
  const matching::Collectives& groups_;
  const Departures& departures_;
  std::uint32_t process_;
  std::uint32_t first_;                  // call of the process
  std::vector<Completion> completions_;  // by call, from that one on
  std::uint32_t next_;                   // call, in the order of begin
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;
  std::map<std::uint16_t, std::vector<std::uint32_t>> of_reducer_;  // by thread: not waited for
  DeviceOrder& out_;
};

std::uint32_t ProcessWaits::add_wait(EventPlace place, const Record& record, bool failed) {
  bool done = record.end && !failed;
  out_.waits.push_back({{process_, place},
                        job_.begin_ns(process_, record),
                        done ? job_.time_ns(process_, record.end) : kNever,
                        record.thread});
  return static_cast<std::uint32_t>(out_.waits.size() - 1);
}

// Gloo ends a wait as soon as a peer is gone, a launcher of MPI the whole job. The head of the report names a
// peer that failed; nobody hangs. A wait without an end was over because its process was ended: by the
// launcher, if a peer had ended by itself.
bool ProcessWaits::is_broken(std::uint32_t call, const Record& wait) const {
  constexpr std::int64_t kNoticed = 2'000'000'000;
  std::int64_t end_ns = job_.end_ns(process_, wait);
  for (const matching::Member& member : groups_.communicators[groups_.calls[call].communicator].members) {
    auto left = departures_.find({member.process, member.number});
    const model::Process& peer = job_.processes[member.process];
    if (member.process != process_ && left != departures_.end() && left->second <= end_ns &&
        end_ns - peer.last_ns < kNoticed && (wait.end || peer.header().ended))
      return true;
  }
  return false;
}

void ProcessWaits::cover(std::uint32_t call, std::uint32_t wait) {
  Completion& completion = completions_[call - first_];
  bool own = groups_.calls.form(call).thread == out_.waits[wait].thread;
  if (own && completion.own_wait == kNone) completion.own_wait = wait;
  std::uint32_t& place = out_.waits[wait].end_ns == kNever ? completion.blocked : completion.wait;
  if (place == kNone) place = wait;
}

// The calls of the table are those of the records that were kept: the next one, or none.
void ProcessWaits::take_call(EventPlace place, const Record& record) {
  if (next_ == groups_.first_of_process[process_ + 1] || !groups_.calls.is_at(next_, place)) return;
  std::uint32_t call = next_++;
  auto data = trace::payload_of<payload::GroupCollective>(record);
  calls_[key_of(data.communicator, data.sequence)] = call;
  if (data.flags & trace::kByReducer) of_reducer_[record.thread].push_back(call);
  bool blocks = (data.flags & trace::kBlocking) != 0;
  bool waits_itself = blocks || record.call == static_cast<std::uint16_t>(Call::c10d_monitored_barrier);
  bool failed = data.result || (blocks && !record.end);
  if (waits_itself && !(failed && is_broken(call, record)))
    cover(call, add_wait(place, record, data.result != 0));
}

void ProcessWaits::take(EventPlace place, const Record& record) {
  Operation operation = trace::operation_of(record.call);
  if (operation == Operation::kGroupWait) {
    auto data = trace::payload_of<payload::GroupWork>(record);
    auto found = calls_.find(key_of(data.communicator, data.sequence));
    bool failed = data.result || (!record.end && model::is_of_mpi(record.call));
    if (found == calls_.end() || (failed && is_broken(found->second, record))) return;
    cover(found->second, add_wait(place, record, data.result != 0));
  } else if (record.call == static_cast<std::uint16_t>(Call::reducer_finish)) {
    std::vector<std::uint32_t>& calls = of_reducer_[record.thread];
    bool failed = trace::payload_of<payload::TrainingCall>(record).result != 0;
    if (!calls.empty() && !(failed && is_broken(calls.front(), record))) {
      std::uint32_t wait = add_wait(place, record, failed);
      for (std::uint32_t call : calls) cover(call, wait);
    }
    calls.clear();
  } else if (operation != Operation::kGradientReducer) {
    take_call(place, record);
  }
}

}  // namespace

DeviceOrder find_group_waits(const model::Job& job, const matching::Collectives& groups) {
  DeviceOrder order;
  order.looked_at.resize(groups.calls.size());
  order.followed.resize(groups.calls.size());
  const Departures departures = find_departures(job, groups);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    if (groups.first_of_process[process] != groups.first_of_process[process + 1])
      ProcessWaits(job, groups, departures, process, order).read();
  return order;
}

}  // namespace ddpscope::ordering
