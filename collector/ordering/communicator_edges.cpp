// Making a communicator is a rendezvous: no member's call returns before all have made theirs.
#include <map>
#include <optional>

#include "collector/ordering/communicator_makings.h"
#include "collector/ordering/device_edges.h"

namespace ddpscope::ordering {

void add_communicator_edges(const model::Job& job, const matching::Collectives& collectives, Graph& graph) {
  std::map<std::uint32_t, CommunicatorMakings> of_process;
  for (const matching::Communicator& communicator : collectives.communicators) {
    if (communicator.members.size() < 2) continue;
    Node meeting = graph.meeting();
    for (const matching::Member& member : communicator.members) {
      const CommunicatorMakings& makings =
          of_process.try_emplace(member.process, job, member.process).first->second;
      graph.edge(graph.before(makings.making(member)), meeting, EdgeKind::kCommunicator);
      if (std::optional<Span> complete = makings.known(member))
        graph.edge(meeting, graph.after(*complete), EdgeKind::kCommunicator);
    }
  }
}

}  // namespace ddpscope::ordering
