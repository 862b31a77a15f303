// The k-th calls of all members of a communicator meet; a member knows of it once its call, or its wait for
// it, is over.
#include "collector/ordering/group_edges.h"

#include <algorithm>

#include "collector/matching/group_collectives.h"
#include "collector/ordering/collective_shape.h"
#include "collector/ordering/group_waits.h"

namespace ddpscope::ordering {
namespace {

using matching::Collectives;
using matching::Communicator;
using matching::Member;

// Beyond that many the graph would take gigabytes. What the others order is then left open, for the ranks
// share memory.
constexpr std::size_t kMostCalls = 4'000'000;

bool is_of_mpi(const model::Job& job, const Communicator& communicator) {
  const Member& first = communicator.members.front();
  return !matching::makes_process_group(job.record({first.process, first.made}));
}

class GroupMeetings {
 public:
  GroupMeetings(const model::Job& job, const Collectives& groups, Graph& graph)
      : groups_(groups), waits_(find_group_waits(job, groups)), graph_(graph) {}

  // Of one whose members are not all known, or lost calls, it is not known which call is which.
  void add(const Communicator& communicator) {
    const std::vector<Member>& members = communicator.members;
    bool sound = members.size() > 1 && communicator.without_trace() == 0 &&
                 std::ranges::none_of(members, &Member::incomplete);
    std::size_t common = sound ? members.front().calls.size() : 0;
    for (const Member& member : members) common = std::min(common, member.calls.size());
    calls_ += common * members.size();
    if (calls_ > kMostCalls) return;
    for (std::uint32_t k = 0; k < common; ++k)
      if (is_one_operation(members, k)) meet(members, k);
  }

 private:
  // Ranks that disagree about an operation may not have met at all.
  bool is_one_operation(const std::vector<Member>& members, std::uint32_t k) const {
    const matching::Signature& first = groups_.signature_at(members.front(), k);
    return first.operation != trace::Operation::kGroupCollective &&
           std::ranges::all_of(members, [&](const Member& member) {
             const matching::Signature& own = groups_.signature_at(member, k);
             return own.operation == first.operation && own.root == first.root;
           });
  }

  void meet(const std::vector<Member>& members, std::uint32_t k) {
    const matching::Signature& signature = groups_.signature_at(members.front(), k);
    Shape shape = shape_of(signature.operation);
    Node meeting = graph_.meeting();
    for (const Member& member : members) {
      std::uint32_t call = member.calls[k];
      bool root = member.rank_in_communicator == signature.root;
      ThreadId thread{member.process, groups_.calls.form(call).thread};
      if (shape == Shape::kAllToAll || root == (shape == Shape::kFromRoot))
        graph_.edge(graph_.moment(thread, groups_.calls.begin_ns(call)), meeting, EdgeKind::kCollective);
      if (shape == Shape::kAllToAll || root == (shape == Shape::kToRoot))
        add_knowledge(member, call, meeting);
    }
  }

  void add_knowledge(const Member& member, std::uint32_t call, Node meeting) {
    std::uint32_t wait = waits_.completions[call].wait;
    if (wait == matching::kNone) return;
    const HostWait& known = waits_.waits[wait];
    Span span{{member.process, known.thread}, known.begin_ns, known.end_ns};
    graph_.edge(meeting, graph_.after(span), EdgeKind::kCollective);
  }

  const Collectives& groups_;
  DeviceOrder waits_;
  Graph& graph_;
  std::size_t calls_ = 0;
};

}  // namespace

void add_group_edges(const model::Job& job, Graph& graph) {
  if (!matching::uses_mpi(job)) return;
  const Collectives groups = matching::find_group_collectives(job);
  GroupMeetings meetings(job, groups, graph);
  for (const Communicator& communicator : groups.communicators)
    if (is_of_mpi(job, communicator)) meetings.add(communicator);
}

}  // namespace ddpscope::ordering
