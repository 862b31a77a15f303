// Collects NCCL's records process by process and sorts them into communicators.
#include "collector/matching/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "collector/matching/call_sites.h"
#include "collector/matching/captured_calls.h"
#include "collector/matching/latest_calls.h"
#include "collector/model/nccl_types.h"

namespace ddpscope::matching {
namespace {

using model::EventPlace;
using model::Job;
using model::Membership;
using model::Process;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr std::int32_t kShrinkAborts = 1;  // NCCL_SHRINK_ABORT
constexpr int kInProgress = 7;  // ncclInProgress: a call on a non-blocking communicator that is still at work

bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter || operation == Operation::kGroupCollective;
}

bool has_root(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

bool is_collective(Operation operation) {
  return operation >= Operation::kAllReduce && operation <= Operation::kScatter;
}

bool is_point_to_point(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kReceive;
}

// It first ends what is outstanding on its parent.
bool shrinks_with_abort(const Record& record) {
  return record.call == static_cast<std::uint16_t>(trace::Call::ncclCommShrink) &&
         trace::payload_of<payload::Communicator>(record).color & kShrinkAborts;
}

Signature signature_of(Operation operation, const payload::Collective& call) {
  return {operation, call.datatype, reduces(operation) ? call.reduction : std::uint8_t{0},
          has_root(operation) ? call.peer : -1, call.count};
}

// Which rank of the job a membership is. A process that holds several ranks has one membership of the world
// for each; a communicator split off one of them belongs to the same rank.
std::int32_t rank_of(const Process& process, const Membership& member, std::int32_t world) {
  auto spans_world = [&](const Membership& m) { return m.size == world && m.parent == 0; };
  auto worlds = std::count_if(process.memberships.begin(), process.memberships.end(), spans_world);
  if (worlds <= 1) return process.rank;
  if (spans_world(member)) return member.rank;
  for (const Membership& parent : process.memberships)
    if (parent.communicator == member.parent && spans_world(parent)) return parent.rank;
  return process.rank;
}

class Builder {
 public:
  explicit Builder(const Job& job) : job_(job), sites_(job) {}

  Collectives build() {
    add_members();
    std::uint64_t calls = 0;  // room is made once: what moves is most of the memory that is touched
    for (const Process& process : job_.processes)
      calls += process.calls[static_cast<std::size_t>(model::CallClass::kNccl)];
    result_.calls.reserve(calls);
    for (process_ = 0; process_ < job_.processes.size(); ++process_) {
      result_.first_of_process.push_back(result_.calls.size());
      result_.calls.begin_process(job_.processes[process_].file);
      add_process();
    }
    result_.first_of_process.push_back(result_.calls.size());
    begin_all_together();
    result_.sites = sites_.take_frames();
    return std::move(result_);
  }

 private:
  struct Found {
    const Record* record;
    EventPlace place;
    Operation operation;
  };
  struct Thread {
    bool grouping = false;
    std::vector<std::uint32_t> in_group;  // calls not enqueued yet
  };

  void add_members();
  void add_process();
  void add_call(const Found& found);
  void add_launch(const Found& found);
  void add_to_member(const CollectiveCall& call);
  void cut_from(std::uint32_t gap, Numbers& calls) const;
  void begin_all_together();
  void note_one_sided(const Found& found);
  void note_state(const Found& found);
  void end_group(const Found& found);

  const Job& job_;
  CallSites sites_;
  Collectives result_;
  std::uint32_t process_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> member_of_;
  std::map<std::uint16_t, Thread> threads_;
  std::optional<CapturedCalls> captured_;  // of this process
  std::map<std::uint32_t, std::vector<std::uint32_t>>
      sequences_;  // met in this process, by communicator's number
  FirstKnown first_known_;
};

// Of calls in their order; what a graph ran stands behind the call before it.
class Sequence {
 public:
  explicit Sequence(const Job& job) : job_(job) {}

  std::uint32_t of(const CollectiveCall& call) {
    if (!call.by_graph()) last_ = trace::payload_of<payload::Collective>(job_.record(call.event)).sequence;
    return last_;
  }

 private:
  const Job& job_;
  std::uint32_t last_ = 0;
};

std::uint32_t first_missing(std::vector<std::uint32_t>& sequences) {
  if (!std::is_sorted(sequences.begin(), sequences.end())) std::sort(sequences.begin(), sequences.end());
  std::uint32_t next = 0;
  for (std::uint32_t sequence : sequences) {
    if (sequence > next) break;
    next = sequence + 1;
  }
  return next;
}

void Builder::add_members() {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> by_id_and_use;
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    const Process& process = job_.processes[i];
    std::map<std::pair<std::uint64_t, std::int32_t>, std::uint32_t> uses;  // of an id, by rank
    for (const Membership& m : process.memberships) {
      auto [found, fresh] = by_id_and_use.emplace(std::pair(m.id, uses[{m.id, m.rank}]++),
                                                  static_cast<std::uint32_t>(result_.communicators.size()));
      if (fresh) result_.communicators.push_back({m.id, m.size, {}});
      Member member{};
      member.rank_in_communicator = m.rank;
      member.rank = rank_of(process, m, job_.world_size);
      member.process = i;
      member.number = m.communicator;
      member.made = m.place;
      member.incomplete = process.file.health(trace::Health::kept_records_lost) ||
                          process.file.health(trace::Health::chunk_open_failed) ||
                          !process.file.damage().empty();
      result_.communicators[found->second].members.push_back(std::move(member));
    }
  }
  for (std::uint32_t c = 0; c < result_.communicators.size(); ++c) {
    auto& members = result_.communicators[c].members;
    auto lower = [](const Member& a, const Member& b) {
      return a.rank_in_communicator < b.rank_in_communicator;
    };
    std::stable_sort(members.begin(), members.end(), lower);
    for (std::uint32_t m = 0; m < members.size(); ++m)
      member_of_[{members[m].process, members[m].number}] = {c, m};
  }
}

void Builder::add_process() {
  threads_.clear();
  sequences_.clear();
  captured_.emplace(job_.processes[process_].file);
  constexpr trace::OperationSet kGraphs{Operation::kGraphLaunch, Operation::kCapture,
                                        Operation::kCallCaptured, Operation::kGraphMade};
  auto wanted = trace::OperationSet::range(Operation::kAllReduce, Operation::kCommunicatorQuery) |
                trace::OperationSet{Operation::kOneSided};
  if (captured_->any()) wanted = wanted | kGraphs;
  model::for_each_in_time(job_.processes[process_].file, wanted, [&](EventPlace place, const Record& record) {
    Found call{&record, place, trace::operation_of(record.call)};
    if (is_collective(call.operation) || is_point_to_point(call.operation))
      add_call(call);
    else if (call.operation == Operation::kOneSided)
      note_one_sided(call);
    else if (call.operation == Operation::kGroupEnd)
      end_group(call);
    else if (call.operation == Operation::kGraphLaunch)
      add_launch(call);
    else if (kGraphs.has(call.operation))
      captured_->take(record);
    else
      note_state(call);
  });
  for (const CollectiveCall& call : captured_->in_bodies())
    result_.communicators[call.communicator].members[call.member].launches_unknown_graphs();
  for (auto& [number, sequences] : sequences_) {
    auto [communicator, index] = member_of_[{process_, number}];
    Member& member = result_.communicators[communicator].members[index];
    if (job_.processes[process_].file.left_out_calls()) {
      first_known_[{communicator, index}] = first_of_latest(sequences);
      continue;
    }
    std::uint32_t gap = first_missing(sequences);
    if (sequences.back() < gap) continue;
    cut_from(gap, member.calls);
    cut_from(gap, member.point_to_point);
  }
}

void Builder::begin_all_together() {
  auto counts_others = [](const Member& member) {
    return !member.point_to_point.empty() || member.one_sided;
  };
  begin_together(first_known_, result_, counts_others, [&](const Member& member) {
    std::vector<std::uint32_t> sequences;
    Sequence sequence(job_);
    for (std::uint32_t call : member.calls) sequences.push_back(sequence.of(result_.calls[call]));
    return sequences;
  });
}

// Calls are numbered as they are made, recorded or not. Behind a number that is missing (a full disk, a
// damaged page) a member's calls would pair with the wrong ones of its peers: they are not judged.
void Builder::cut_from(std::uint32_t gap, Numbers& calls) const {
  Numbers kept;
  Sequence sequence(job_);
  for (std::uint32_t call : calls)
    if (sequence.of(result_.calls[call]) <= gap) kept.push_back(call);
  calls = std::move(kept);
}

void Builder::add_call(const Found& found) {
  auto data = trace::payload_of<payload::Collective>(*found.record);
  auto member_place = member_of_.find({process_, data.communicator});
  if (member_place == member_of_.end()) return;
  sequences_[data.communicator].push_back(data.sequence);
  if (found.record->end && data.result != 0 && data.result != kInProgress) return;  // NCCL refused it
  auto [communicator, index] = member_place->second;
  CollectiveCall call{};
  call.event = call.called = {process_, found.place};
  call.begin_ns = job_.begin_ns(process_, *found.record);
  call.enqueue_ns = job_.end_ns(process_, *found.record);
  call.signature = signature_of(found.operation, data);
  call.communicator = communicator;
  call.member = index;
  call.site = sites_.number(process_, found.record->stack);
  call.stream = data.stream;
  call.buffer = data.buffer;
  call.thread = found.record->thread;
  call.device = data.device;
  call.peer = data.peer;
  if (auto capture = captured_->capture_of(data.communicator, data.sequence))
    return captured_->add(*capture, call);
  Thread& thread = threads_[call.thread];
  if (thread.grouping) thread.in_group.push_back(result_.calls.size());
  add_to_member(call);
}

// Pairs with nothing, but is numbered like the others.
void Builder::note_one_sided(const Found& found) {
  auto data = trace::payload_of<payload::Collective>(*found.record);
  auto place = member_of_.find({process_, data.communicator});
  if (place == member_of_.end()) return;
  sequences_[data.communicator].push_back(data.sequence);
  result_.communicators[place->second.first].members[place->second.second].one_sided = true;
}

void Builder::add_to_member(const CollectiveCall& call) {
  Member& member = result_.communicators[call.communicator].members[call.member];
  auto& list = is_collective(call.signature.operation) ? member.calls : member.point_to_point;
  list.push_back(result_.calls.size());
  result_.calls.push_back(call);
}

void Builder::add_launch(const Found& found) {
  auto calls = captured_->launched(*found.record);
  if (!calls) {
    for (auto& communicator : result_.communicators)
      for (Member& member : communicator.members)
        if (member.process == process_) member.launches_unknown_graphs();
    return;
  }
  auto launch = trace::payload_of<payload::DeviceOrder>(*found.record);
  for (CollectiveCall& call : *calls) {
    call.event = {process_, found.place};
    call.begin_ns = job_.begin_ns(process_, *found.record);
    call.enqueue_ns = job_.end_ns(process_, *found.record);
    call.site = sites_.number(process_, found.record->stack);
    call.stream = launch.stream;
    call.thread = found.record->thread;
    add_to_member(call);
  }
}

// The outermost end enqueues the calls of its group.
void Builder::end_group(const Found& found) {
  auto group = trace::payload_of<payload::Group>(*found.record);
  if (group.depth != 0) return;
  std::int64_t end = job_.end_ns(process_, *found.record);
  Thread& thread = threads_[found.record->thread];
  for (std::uint32_t number : thread.in_group) result_.calls.set_enqueue_ns(number, end);
  thread = {};
}

void Builder::note_state(const Found& found) {
  if (found.operation == Operation::kGroupStart) {
    threads_[found.record->thread].grouping = true;
    return;
  }
  bool abort = found.operation == Operation::kCommunicatorAbort || shrinks_with_abort(*found.record);
  if (!abort && found.operation != Operation::kCommunicatorQuery) return;
  bool shrinks = found.operation == Operation::kCommunicatorSplit;
  auto call = trace::payload_of<payload::CommunicatorCall>(*found.record);
  std::uint32_t communicator =
      shrinks ? trace::payload_of<payload::Communicator>(*found.record).parent : call.communicator;
  auto place = member_of_.find({process_, communicator});
  if (place == member_of_.end()) return;
  Member& member = result_.communicators[place->second.first].members[place->second.second];
  std::int64_t at = job_.begin_ns(process_, *found.record);
  if (abort) member.aborted_ns = std::min(member.aborted_ns, at);
  bool asks_errors = found.record->call == static_cast<std::uint16_t>(trace::Call::ncclCommGetAsyncError);
  if (asks_errors && call.status != 0 && call.status != kInProgress)
    member.error_ns = std::min(member.error_ns, at);
}

}  // namespace

std::uint64_t bytes_of(const Signature& signature) {
  return signature.count * model::datatype_bytes(signature.datatype);
}

bool needs(const Signature& signature, std::int32_t rank, std::int32_t other) {
  if (rank == other) return true;
  switch (signature.operation) {
    case Operation::kBroadcast:
    case Operation::kScatter:
      return other == signature.root;
    case Operation::kReduce:
    case Operation::kGather:
      return rank == signature.root;
    case Operation::kGroupCollective:
      return other < rank;
    default:
      return true;
  }
}

const char* name_of(Operation operation) {
  if (operation == Operation::kGroupBarrier) return "barrier";
  if (operation == Operation::kGroupCollective) return "scan";
  if (operation == Operation::kCommunicatorSplit) return "creation of a communicator";
  if (operation == Operation::kCommunicatorEnd) return "end of MPI";
  static constexpr const char* kOperations[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                                "reduce",     "all-to-all", "gather",         "scatter",
                                                "send",       "receive"};
  auto index = static_cast<std::size_t>(operation) - static_cast<std::size_t>(Operation::kAllReduce);
  return index < std::size(kOperations) ? kOperations[index] : "call";
}

std::string to_text(const Signature& signature) {
  constexpr trace::OperationSet kWithoutData{Operation::kGroupBarrier, Operation::kCommunicatorSplit,
                                             Operation::kCommunicatorEnd};
  if (kWithoutData.has(signature.operation)) return name_of(signature.operation);
  std::string text = fmt::format("{} of {} {}", name_of(signature.operation), signature.count,
                                 model::datatype_name(signature.datatype));
  if (reduces(signature.operation)) text += fmt::format(" ({})", model::reduction_name(signature.reduction));
  if (signature.root >= 0) text += fmt::format(" (root {})", signature.root);
  return text;
}

Collectives find_collectives(const Job& job) { return Builder(job).build(); }

}  // namespace ddpscope::matching
