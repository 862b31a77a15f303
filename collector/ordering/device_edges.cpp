// Two nodes a collective: what its stream had reached when it could start, and what follows in the stream.
#include "collector/ordering/device_edges.h"

#include <algorithm>
#include <map>

#include "collector/ordering/collective_shape.h"
#include "collector/ordering/device_replay.h"
#include "collector/ordering/needed_collectives.h"

namespace ddpscope::ordering {
namespace {

using matching::CollectiveCall;
using matching::Collectives;
using matching::Communicator;
using model::Job;
using trace::Operation;

// One that is not needed has no `in`; its `out` is that of the last in its stream that is.
struct CallNodes {
  Node in = kNoNode, out = kNoNode;
};

class ProcessStreams : public DeviceEvents {
 public:
  ProcessStreams(const Job& job, const Collectives& collectives, std::uint32_t process, Graph& graph,
                 const std::vector<bool>& needed, trace::Table<CallNodes>& nodes)
      : job_(job),
        collectives_(collectives),
        process_(process),
        graph_(graph),
        needed_(needed),
        nodes_(nodes) {}

  void enqueued(std::uint32_t number, StreamNumber stream, const Cover& before) override {
    if (streams_.size() <= stream) streams_.resize(stream + 1);
    CallNodes& nodes = nodes_[number];
    if (!needed_[number]) {
      if (!streams_[stream].empty()) nodes.out = nodes_[streams_[stream].back()].out;
      streams_[stream].push_back(number);
      return;
    }
    const CollectiveCall& call = collectives_.calls[number];
    nodes = {graph_.meeting(), graph_.meeting()};
    graph_.edge(nodes.in, nodes.out, EdgeKind::kCollective);
    graph_.edge(graph_.moment({process_, call.thread}, call.enqueue_ns), nodes.in, EdgeKind::kCollective);
    for (std::size_t s = 0; s < before.size(); ++s)
      if (before[s]) graph_.edge(nodes_[streams_[s][before[s] - 1]].out, nodes.in, EdgeKind::kCollective);
    streams_[stream].push_back(number);
  }

  void waited(const HostCall& wait, const Cover& cover, bool done) override {
    if (!done) return;
    std::vector<std::uint32_t>& known = known_[wait.record->thread];
    known.resize(std::max(known.size(), cover.size()));
    Node after = kNoNode;
    std::int64_t end = job_.time_ns(process_, wait.record->end);
    for (std::size_t s = 0; s < cover.size(); ++s) {
      if (cover[s] <= known[s]) continue;
      known[s] = cover[s];
      std::uint32_t call = streams_[s][cover[s] - 1];
      // An abort releases those who wait: what they waited for is not complete.
      if (collectives_.member_of(collectives_.calls[call]).aborted_ns <= end) continue;
      if (after == kNoNode) after = graph_.after({{process_, wait.record->thread}, wait.begin_ns, end});
      graph_.edge(nodes_[call].out, after, EdgeKind::kCollective);
    }
  }

 private:
  const Job& job_;
  const Collectives& collectives_;
  std::uint32_t process_;
  Graph& graph_;
  const std::vector<bool>& needed_;                            // by call
  trace::Table<CallNodes>& nodes_;                             // likewise
  std::vector<std::vector<std::uint32_t>> streams_;            // calls of each
  std::map<std::uint16_t, std::vector<std::uint32_t>> known_;  // by thread: how many calls of each stream
};

// The k-th calls of all members. NCCL pairs calls by nothing but their place: those that differ order their
// members as far as all of them would.
class Meetings {
 public:
  Meetings(const Collectives& collectives, const trace::Table<CallNodes>& nodes, Graph& graph)
      : collectives_(collectives), nodes_(nodes), graph_(graph) {}

  void add(const Communicator& communicator) {
    std::size_t calls = 0;
    for (const auto& member : communicator.members) calls = std::max(calls, member.calls.size());
    for (std::size_t k = 0; k < calls; ++k) meet(communicator, k);
    pair_messages(communicator);
  }

 private:
  void meet(const Communicator& communicator, std::size_t ordinal) {
    std::vector<std::uint32_t> calls;
    bool same_shape = true;
    for (const auto& member : communicator.members) {
      if (ordinal >= member.calls.size()) continue;
      if (nodes_[member.calls[ordinal]].in == kNoNode) return;  // needed by all members or by none
      calls.push_back(member.calls[ordinal]);
      const auto& first = collectives_.calls[calls.front()].signature;
      const auto& own = collectives_.calls[calls.back()].signature;
      same_shape =
          same_shape && shape_of(own.operation) == shape_of(first.operation) && own.root == first.root;
    }
    if (calls.size() < 2) return;
    const auto& first = collectives_.calls[calls.front()].signature;
    Shape shape = same_shape ? shape_of(first.operation) : Shape::kAllToAll;
    Trust trust = same_shape ? Trust::kSeen : Trust::kAssumed;
    Node meeting = graph_.meeting();
    for (std::uint32_t call : calls) {
      bool root = collectives_.member_of(collectives_.calls[call]).rank_in_communicator == first.root;
      if (shape == Shape::kAllToAll || root == (shape == Shape::kFromRoot))
        graph_.edge(nodes_[call].in, meeting, EdgeKind::kCollective, trust);
      if (shape == Shape::kAllToAll || root == (shape == Shape::kToRoot))
        graph_.edge(meeting, nodes_[call].out, EdgeKind::kCollective, trust);
    }
  }

  // The n-th send from one member to another is what that one's n-th receive gets.
  void pair_messages(const Communicator& communicator) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>> sends, receives;
    for (const auto& member : communicator.members)
      for (std::uint32_t number : member.point_to_point) {
        const CollectiveCall& call = collectives_.calls[number];
        if (call.signature.operation == Operation::kSend)
          sends[{member.rank_in_communicator, call.peer}].push_back(number);
        else
          receives[{call.peer, member.rank_in_communicator}].push_back(number);
      }
    for (const auto& [ends, sent] : sends) {
      const std::vector<std::uint32_t>& received = receives[ends];
      for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
        graph_.edge(nodes_[sent[i]].in, nodes_[received[i]].out, EdgeKind::kCollective);
    }
  }

  const Collectives& collectives_;
  const trace::Table<CallNodes>& nodes_;
  Graph& graph_;
};

}  // namespace

void add_device_edges(const Job& job, const Collectives& collectives, const DeviceOrder& device_order,
                      Graph& graph) {
  trace::Table<CallNodes> nodes(collectives.calls.size());
  std::vector<bool> needed = find_needed_collectives(collectives, device_order);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    ProcessStreams streams(job, collectives, process, graph, needed, nodes);
    replay_device(job, collectives, process, streams);
  }
  Meetings meetings(collectives, nodes, graph);
  for (const Communicator& communicator : collectives.communicators) meetings.add(communicator);
}

}  // namespace ddpscope::ordering
