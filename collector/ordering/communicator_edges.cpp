// Making a communicator is a rendezvous: no member's call returns before all have made theirs.
#include <map>
#include <optional>

#include "collector/ordering/device_edges.h"

namespace ddpscope::ordering {
namespace {

using matching::Member;
using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr int kInProgress = 7;  // ncclInProgress: a non-blocking communicator comes to be later

// Where a call on a communicator takes effect: itself, or the end of the outermost group around it.
class Completions {
 public:
  Completions(const Job& job, std::uint32_t process) : job_(job), process_(process) {
    constexpr trace::OperationSet kStates{Operation::kGroupStart, Operation::kGroupEnd,
                                          Operation::kCommunicatorQuery};
    model::for_each_in_time(job.processes[process].file, kStates,
                            [&](model::EventPlace, const Record& record) { see(record); });
  }

  // The call after which the host knows that the communicator is there.
  std::optional<Span> of(const Member& member) const {
    const Record& record = job_.processes[process_].record(member.made);
    for (const Span& group : groups_)
      if (group.thread.thread == record.thread && group.begin_ns <= ns(record.begin) &&
          ns(record.begin) <= group.end_ns)
        return group;
    if (record.end && trace::payload_of<payload::Communicator>(record).result != kInProgress)
      return span(record);
    auto ready = ready_.find(member.number);
    return ready == ready_.end() ? std::nullopt : std::optional(ready->second);
  }

 private:
  std::int64_t ns(std::uint64_t ticks) const { return job_.time_ns(process_, ticks); }
  Span span(const Record& record) const {
    return {{process_, record.thread}, ns(record.begin), ns(record.end)};
  }

  void see(const Record& record) {
    Operation operation = trace::operation_of(record.call);
    if (operation == Operation::kGroupStart && trace::payload_of<payload::Group>(record).depth == 0)
      opened_[record.thread] = ns(record.begin);
    if (operation == Operation::kGroupEnd && trace::payload_of<payload::Group>(record).depth == 0 &&
        record.end && opened_.count(record.thread))
      groups_.push_back({{process_, record.thread}, opened_[record.thread], ns(record.end)});
    bool asked = record.call == static_cast<std::uint16_t>(trace::Call::ncclCommGetAsyncError) && record.end;
    if (!asked) return;
    auto query = trace::payload_of<payload::CommunicatorCall>(record);
    if (query.status == 0) ready_.emplace(query.communicator, span(record));
  }

  const Job& job_;
  std::uint32_t process_;
  std::map<std::uint16_t, std::int64_t> opened_;
  std::vector<Span> groups_;
  std::map<std::uint32_t, Span> ready_;  // by the communicator's number: the first answer that it is
};

}  // namespace

void add_communicator_edges(const Job& job, const matching::Collectives& collectives, Graph& graph) {
  std::map<std::uint32_t, Completions> completions;
  for (const matching::Communicator& communicator : collectives.communicators) {
    if (communicator.members.size() < 2) continue;
    Node meeting = graph.meeting();
    for (const Member& member : communicator.members) {
      const Record& record = job.processes[member.process].record(member.made);
      std::int64_t began = job.time_ns(member.process, record.begin);
      graph.edge(graph.before({{member.process, record.thread}, began, began}), meeting,
                 EdgeKind::kCommunicator);
      auto known = completions.try_emplace(member.process, job, member.process).first;
      if (std::optional<Span> complete = known->second.of(member))
        graph.edge(meeting, graph.after(*complete), EdgeKind::kCommunicator);
    }
  }
}

}  // namespace ddpscope::ordering
