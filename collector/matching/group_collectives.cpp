// Two passes over a process: the groups that it joined, then its calls.
#include "collector/matching/group_collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collector/matching/call_sites.h"
#include "collector/matching/latest_calls.h"
#include "collector/model/enclosing_calls.h"
#include "trace/process_groups.h"

namespace ddpscope::matching {
namespace {

using model::EventPlace;
using model::Job;
using trace::Call;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

Signature signature_of(Operation operation, const payload::GroupCollective& call) {
  if (operation == Operation::kGroupBarrier) return {operation, 0, 0, -1, 0};
  return {operation, call.datatype, call.reduction == trace::kNoReduction ? std::uint8_t{0} : call.reduction,
          call.peer, operation == Operation::kAllToAll ? 0 : call.count};
}

bool lost_records(const model::Process& process) {
  return process.file.health(trace::Health::kept_records_lost) ||
         process.file.health(trace::Health::chunk_open_failed) || !process.file.damage().empty();
}

class GroupBuilder {
 public:
  explicit GroupBuilder(const Job& job) : job_(job), sites_(job) {}

  Collectives build() {
    for (process_ = 0; process_ < job_.processes.size(); ++process_) add_groups();
    sort_members();
    for (process_ = 0; process_ < job_.processes.size(); ++process_) {
      result_.first_of_process.push_back(result_.calls.size());
      result_.calls.begin_process(job_.processes[process_].file);
      add_calls();
    }
    result_.first_of_process.push_back(result_.calls.size());
    begin_all_together();
    result_.sites = sites_.take_frames();
    return std::move(result_);
  }

 private:
  void add_groups();
  void sort_members();
  void add_calls();
  void begin_all_together();
  void add_call(EventPlace place, const Record& record);
  Member* member_of(std::uint32_t number);

  const Job& job_;
  CallSites sites_;
  Collectives result_;
  std::uint32_t process_ = 0;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      groups_;  // by id, use, owner
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> member_of_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> sequences_;  // of this process, by group's number
  FirstKnown first_known_;
};

// A process's k-th group of a name is the k-th of its peers: it may have destroyed the one before.
void GroupBuilder::add_groups() {
  const model::Process& process = job_.processes[process_];
  std::map<std::uint64_t, std::uint32_t> uses;
  std::set<std::uint32_t> known;
  model::for_each_in_time(
      process.file, {Operation::kProcessGroup}, [&](EventPlace place, const Record& record) {
        auto made = trace::payload_of<payload::ProcessGroup>(record);
        bool failed = record.end && made.result;
        // Groups on NCCL are judged by NCCL's own calls.
        if (process.file.string(made.backend) == "nccl") return;
        if (failed || made.rank < 0 || made.size <= made.rank || !known.insert(made.communicator).second)
          return;
        // Ranks may each make one of itself, and give them one name.
        std::uint32_t owner = made.size == 1 ? process_ : kNone;
        auto [found, fresh] = groups_.emplace(std::tuple(made.id, uses[made.id]++, owner),
                                              static_cast<std::uint32_t>(result_.communicators.size()));
        if (fresh) result_.communicators.push_back({made.id, made.size, {}});
        Member member{};
        member.rank_in_communicator = made.rank;
        member.rank = process.rank >= 0 ? process.rank : made.rank;
        member.process = process_;
        member.number = made.communicator;
        member.made = place;
        // Groups of one name that differ in size were made by programs that count them otherwise on each
        // rank.
        member.incomplete = lost_records(process) || made.size != result_.communicators[found->second].size;
        result_.communicators[found->second].members.push_back(std::move(member));
      });
}

void GroupBuilder::sort_members() {
  for (std::uint32_t c = 0; c < result_.communicators.size(); ++c) {
    auto& members = result_.communicators[c].members;
    std::ranges::stable_sort(members, {}, &Member::rank_in_communicator);
    std::set<std::int32_t> ranks;
    bool sound = std::ranges::none_of(members, &Member::incomplete);
    for (const Member& member : members) sound = ranks.insert(member.rank_in_communicator).second && sound;
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      members[m].incomplete = !sound;
      member_of_[{members[m].process, members[m].number}] = {c, m};
    }
  }
}

void GroupBuilder::add_calls() {
  constexpr trace::OperationSet kCalls{Operation::kGroupCollective, Operation::kGroupBarrier,
                                       Operation::kGroupPointToPoint};
  sequences_.clear();
  model::for_each_in_time(job_.processes[process_].file, kCalls,
                          [&](EventPlace place, const Record& record) { add_call(place, record); });
  if (!job_.processes[process_].file.left_out_calls()) return;
  for (auto& [number, sequences] : sequences_)
    first_known_[member_of_.at({process_, number})] = first_of_latest(sequences);
}

void GroupBuilder::begin_all_together() {
  begin_together(first_known_, result_, &Member::one_sided, [&](const Member& member) {
    std::vector<std::uint32_t> sequences;
    for (std::uint32_t call : member.calls) {
      Record record = job_.record(result_.calls[call].event);
      sequences.push_back(trace::payload_of<payload::GroupCollective>(record).sequence);
    }
    return sequences;
  });
}

void GroupBuilder::add_call(EventPlace place, const Record& record) {
  auto data = trace::payload_of<payload::GroupCollective>(record);
  auto found = member_of_.find({process_, data.communicator});
  if (found == member_of_.end()) return;
  sequences_[data.communicator].push_back(data.sequence);
  auto [communicator, index] = found->second;
  Member& member = result_.communicators[communicator].members[index];
  if (trace::operation_of(record.call) == Operation::kGroupPointToPoint) {
    member.one_sided = true;  // counts beside the collectives, on as many members as it likes
    return;
  }
  if (record.end && data.result) return;  // refused: no other rank waits for it
  if (data.flags & trace::kUnread) member.incomplete = true;
  CollectiveCall call{};
  call.event = call.called = {process_, place};
  call.begin_ns = job_.begin_ns(process_, record);
  call.enqueue_ns = job_.end_ns(process_, record);
  call.signature = signature_of(group_operation_of(record), data);
  call.communicator = communicator;
  call.member = index;
  call.site = sites_.number(process_, record.stack);
  call.thread = record.thread;
  call.peer = data.peer;
  member.calls.push_back(result_.calls.size());
  result_.calls.push_back(call);
}

}  // namespace

Operation group_operation_of(const Record& record) {
  switch (static_cast<Call>(record.call)) {
    case Call::c10d_allreduce:
    case Call::MPI_Allreduce:
    case Call::MPI_Iallreduce:
      return Operation::kAllReduce;
    case Call::c10d_allgather:
    case Call::MPI_Allgather:
    case Call::MPI_Iallgather:
    case Call::MPI_Allgatherv:
    case Call::MPI_Iallgatherv:
      return Operation::kAllGather;
    case Call::c10d_reduce_scatter:
    case Call::MPI_Reduce_scatter:
    case Call::MPI_Ireduce_scatter:
    case Call::MPI_Reduce_scatter_block:
    case Call::MPI_Ireduce_scatter_block:
      return Operation::kReduceScatter;
    case Call::c10d_broadcast:
    case Call::MPI_Bcast:
    case Call::MPI_Ibcast:
      return Operation::kBroadcast;
    case Call::c10d_reduce:
    case Call::MPI_Reduce:
    case Call::MPI_Ireduce:
      return Operation::kReduce;
    case Call::c10d_alltoall:
    case Call::MPI_Alltoall:
    case Call::MPI_Ialltoall:
    case Call::MPI_Alltoallv:
    case Call::MPI_Ialltoallv:
    case Call::MPI_Alltoallw:
    case Call::MPI_Ialltoallw:
      return Operation::kAllToAll;
    case Call::c10d_gather:
    case Call::MPI_Gather:
    case Call::MPI_Igather:
    case Call::MPI_Gatherv:
    case Call::MPI_Igatherv:
      return Operation::kGather;
    case Call::c10d_scatter:
    case Call::MPI_Scatter:
    case Call::MPI_Iscatter:
    case Call::MPI_Scatterv:
    case Call::MPI_Iscatterv:
      return Operation::kScatter;
    case Call::MPI_Finalize:
      return Operation::kCommunicatorEnd;
    case Call::MPI_Comm_dup:
    case Call::MPI_Comm_dup_with_info:
    case Call::MPI_Comm_split:
    case Call::MPI_Comm_split_type:
    case Call::MPI_Comm_create:
    case Call::MPI_Cart_create:
    case Call::MPI_Cart_sub:
      return Operation::kCommunicatorSplit;
    default:
      return trace::operation_of(record.call);
  }
}

Collectives find_group_collectives(const Job& job) { return GroupBuilder(job).build(); }

bool uses_mpi(const Job& job) {
  return std::ranges::any_of(job.processes, [](const model::Process& process) {
    bool uses = false;
    model::for_each(process.file, {Operation::kProcessGroup},
                    [&](EventPlace, const Record& record) { uses = uses || model::is_of_mpi(record.call); });
    return uses;
  });
}

bool knows_all_groups(const Job& job, const Collectives& groups) {
  std::set<std::int32_t> joined;
  for (const Communicator& group : groups.communicators)
    for (const Member& member : group.members) {
      if (member.incomplete) return false;
      joined.insert(member.rank);
    }
  return std::ranges::all_of(job.ranks(), [&](std::int32_t rank) { return joined.count(rank) > 0; });
}

}  // namespace ddpscope::matching
