// Two nodes a collective: what its stream had reached when it could start, and what follows in the stream.
#include "collector/ordering/device_edges.h"

#include <algorithm>
#include <map>

#include "collector/ordering/collective_shape.h"
#include "collector/ordering/device_replay.h"
#include "collector/ordering/messages.h"
#include "collector/ordering/needed_collectives.h"

namespace ddpscope::ordering {
namespace {

using matching::Collectives;
using matching::Communicator;
using model::Job;
using trace::Operation;

struct CallNodes {
  Node in = kNoNode, out = kNoNode;
};

// Of the collectives that are needed.
class NodesOfCalls {
 public:
  explicit NodesOfCalls(const std::vector<bool>& needed) {
    for (bool each : needed) numbers_.push_back(each);
    nodes_.resize(numbers_.runs());
  }

  bool has(std::uint32_t call) const { return numbers_.begins(call); }
  CallNodes& operator[](std::uint32_t call) { return nodes_[numbers_.of(call)]; }
  const CallNodes& operator[](std::uint32_t call) const { return nodes_[numbers_.of(call)]; }

 private:
  matching::Runs numbers_;  // of calls: a run begins with each that is needed
  trace::Table<CallNodes> nodes_;
};

class ProcessStreams : public DeviceEvents {
 public:
  ProcessStreams(const Job& job, const Collectives& collectives, std::uint32_t process, Graph& graph,
                 NodesOfCalls& nodes)
      : job_(job), collectives_(collectives), process_(process), graph_(graph), nodes_(nodes) {}

  void enqueued(std::uint32_t number, StreamNumber stream, const Cover& before) override {
    if (streams_.size() <= stream) streams_.resize(stream + 1);
    streams_[stream].calls.push_back(number);
    if (nodes_.has(number)) {
      CallNodes& nodes = nodes_[number] = {graph_.meeting(), graph_.meeting()};
      graph_.edge(nodes.in, nodes.out, EdgeKind::kCollective);
      std::uint16_t thread = collectives_.calls.form(number).thread;
      Node issued = graph_.moment({process_, thread}, collectives_.calls.enqueue_ns(number));
      graph_.edge(issued, nodes.in, EdgeKind::kCollective);
      for (std::size_t s = 0; s < before.size(); ++s)
        if (before[s]) graph_.edge(streams_[s].out_of(before[s]), nodes.in, EdgeKind::kCollective);
    }
    streams_[stream].add_out(nodes_.has(number) ? nodes_[number].out : kNoNode);
  }

  void waited(const HostCall& wait, const Cover& cover, bool done) override {
    if (!done) return;
    // What may be luck leaves open what a later wait covers.
    std::vector<std::uint32_t>& known = (wait.by_luck ? perhaps_known_ : known_)[wait.record->thread];
    Trust trust = wait.by_luck ? Trust::kUnseen : Trust::kSeen;
    known.resize(std::max(known.size(), cover.size()));
    Node after = kNoNode;
    std::int64_t end = job_.time_ns(process_, wait.record->end);
    for (std::size_t s = 0; s < cover.size(); ++s) {
      if (cover[s] <= known[s]) continue;
      known[s] = cover[s];
      std::uint32_t call = streams_[s].calls[cover[s] - 1];
      // An abort releases those who wait: what they waited for is not complete.
      std::int64_t aborted = collectives_.member_of(collectives_.calls.form(call)).aborted_ns;
      if (aborted <= end && collectives_.calls.begin_ns(call) < aborted) continue;
      if (after == kNoNode) after = graph_.after({{process_, wait.record->thread}, wait.begin_ns, end});
      graph_.edge(streams_[s].out_of(cover[s]), after, EdgeKind::kCollective, trust);
    }
  }

 private:
  struct Stream {
    std::vector<std::uint32_t> calls;
    std::vector<Node> outs;  // parallel: of the last that is needed, up to this one; kNoNode if there is none

    void add_out(Node out) { outs.push_back(out == kNoNode && !outs.empty() ? outs.back() : out); }
    Node out_of(std::uint32_t calls_before) const { return outs[calls_before - 1]; }
  };

  const Job& job_;
  const Collectives& collectives_;
  std::uint32_t process_;
  Graph& graph_;
  NodesOfCalls& nodes_;
  std::vector<Stream> streams_;
  // By thread: how many calls of each stream.
  std::map<std::uint16_t, std::vector<std::uint32_t>> known_, perhaps_known_;
};

// The k-th calls of all members. NCCL pairs calls by nothing but their place: those that differ order their
// members as far as all of them would.
class Meetings {
 public:
  Meetings(const Collectives& collectives, const NodesOfCalls& nodes, Graph& graph)
      : collectives_(collectives), nodes_(nodes), graph_(graph) {}

  void add(const Communicator& communicator) {
    std::size_t calls = 0;
    for (const auto& member : communicator.members) calls = std::max(calls, member.calls.size());
    for (std::size_t k = 0; k < calls; ++k) meet(communicator, k);
    for (const auto& [sent, received] : pair_messages(collectives_, communicator))
      graph_.edge(nodes_[sent].in, nodes_[received].out, EdgeKind::kCollective);
  }

 private:
  void meet(const Communicator& communicator, std::size_t ordinal) {
    std::vector<std::uint32_t> calls;
    bool same_shape = true;
    for (const auto& member : communicator.members) {
      if (ordinal >= member.calls.size()) continue;
      if (!nodes_.has(member.calls[ordinal])) return;  // needed by all members or by none
      calls.push_back(member.calls[ordinal]);
      const auto& first = collectives_.calls.signature(calls.front());
      const auto& own = collectives_.calls.signature(calls.back());
      same_shape =
          same_shape && shape_of(own.operation) == shape_of(first.operation) && own.root == first.root;
    }
    if (calls.size() < 2) return;
    const auto& first = collectives_.calls.signature(calls.front());
    Shape shape = same_shape ? shape_of(first.operation) : Shape::kAllToAll;
    Trust trust = same_shape ? Trust::kSeen : Trust::kAssumed;
    Node meeting = graph_.meeting();
    for (std::uint32_t call : calls) {
      bool root = collectives_.member_of(collectives_.calls.form(call)).rank_in_communicator == first.root;
      if (shape == Shape::kAllToAll || root == (shape == Shape::kFromRoot))
        graph_.edge(nodes_[call].in, meeting, EdgeKind::kCollective, trust);
      if (shape == Shape::kAllToAll || root == (shape == Shape::kToRoot))
        graph_.edge(meeting, nodes_[call].out, EdgeKind::kCollective, trust);
    }
  }

  const Collectives& collectives_;
  const NodesOfCalls& nodes_;
  Graph& graph_;
};

}  // namespace

void add_device_edges(const Job& job, const Collectives& collectives, const DeviceOrder& device_order,
                      Graph& graph) {
  NodesOfCalls nodes(find_needed_collectives(collectives, device_order));
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    ProcessStreams streams(job, collectives, process, graph, nodes);
    replay_device(job, collectives, process, streams);
  }
  Meetings meetings(collectives, nodes, graph);
  for (const Communicator& communicator : collectives.communicators) meetings.add(communicator);
}

}  // namespace ddpscope::ordering
