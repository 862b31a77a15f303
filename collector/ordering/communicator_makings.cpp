// Reads groups and queries of one process.
#include "collector/ordering/communicator_makings.h"

#include <limits>

namespace ddpscope::ordering {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr int kInProgress = 7;  // ncclInProgress: a non-blocking communicator comes to be later

}  // namespace

CommunicatorMakings::CommunicatorMakings(const model::Job& job, std::uint32_t process)
    : job_(job), process_(process) {
  constexpr trace::OperationSet kStates{Operation::kGroupStart, Operation::kGroupEnd,
                                        Operation::kCommunicatorQuery};
  model::for_each_in_time(job.processes[process].file, kStates,
                          [&](model::EventPlace, const Record& record) { see(record); });
}

Span CommunicatorMakings::span(const Record& record) const {
  return {{process_, record.thread}, ns(record.begin), record.end ? ns(record.end) : ns(record.begin)};
}

Span CommunicatorMakings::making(const matching::Member& member) const {
  return span(job_.processes[process_].record(member.made));
}

std::optional<Span> CommunicatorMakings::known(const matching::Member& member) const {
  return known(job_.processes[process_].record(member.made));
}

std::optional<Span> CommunicatorMakings::known(const Record& made) const {
  auto call = trace::payload_of<payload::Communicator>(made);
  auto ready = ready_.find(call.communicator);
  auto answered = ready == ready_.end() ? std::nullopt : std::optional(ready->second);
  if (const Group* group = group_around(made)) return group->complete ? std::optional(group->span) : answered;
  return made.end && call.result != kInProgress ? std::optional(span(made)) : answered;
}

std::int64_t CommunicatorMakings::returned_ns(const Record& made) const {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  if (const Group* group = group_around(made)) return group->returned ? group->span.end_ns : kNever;
  return made.end ? ns(made.end) : kNever;
}

const CommunicatorMakings::Group* CommunicatorMakings::group_around(const Record& record) const {
  for (const Group& group : groups_)
    if (group.span.thread.thread == record.thread && group.span.begin_ns <= ns(record.begin) &&
        ns(record.begin) <= group.span.end_ns)
      return &group;
  return nullptr;
}

void CommunicatorMakings::see(const Record& record) {
  Operation operation = trace::operation_of(record.call);
  if (operation == Operation::kGroupStart && trace::payload_of<payload::Group>(record).depth == 0)
    opened_[record.thread] = ns(record.begin);
  if (operation == Operation::kGroupEnd && opened_.count(record.thread)) {
    auto group = trace::payload_of<payload::Group>(record);
    std::uint64_t end = record.end ? record.end : record.begin;
    if (group.depth == 0)
      groups_.push_back({{{process_, record.thread}, opened_[record.thread], ns(end)},
                         record.end != 0,
                         record.end && group.result == 0});
  }
  bool asked = record.call == static_cast<std::uint16_t>(trace::Call::ncclCommGetAsyncError) && record.end;
  if (!asked) return;
  auto query = trace::payload_of<payload::CommunicatorCall>(record);
  if (query.status == 0) ready_.emplace(query.communicator, span(record));
}

}  // namespace ddpscope::ordering
