// Nodes for transfers, edges by byte.
#include "collector/ordering/stream_edges.h"

#include <algorithm>

#include "collector/ordering/accumulated.h"
#include "collector/ordering/ending_edges.h"
#include "collector/ordering/opening_edges.h"
#include "collector/ordering/servers.h"
#include "collector/ordering/store_edges.h"
#include "collector/ordering/stream_ends.h"
#include "collector/ordering/stream_line.h"
#include "collector/ordering/unseen_children.h"

namespace ddpscope::ordering {
namespace {

using model::Job;

class StreamEdges {
 public:
  StreamEdges(const Job& job, const std::vector<ThreadId>& judged, Graph& graph)
      : job_(job),
        judged_(judged),
        graph_(graph),
        streams_(find_stream_ends(job)),
        servers_(find_servers(job, streams_)) {}

  void add() {
    add_nodes();
    serve();
    for (const auto& [id, end] : streams_.ends) {
      if (!end.peer || end.received.empty()) continue;
      auto sender = streams_.ends.find(*end.peer);
      if (sender != streams_.ends.end()) connect(sender->second, end);
    }
    for (const Joint& joint : streams_.joints) join(joint);
    add_store_edges(job_, streams_, graph_);
    add_ending_edges(job_, streams_, graph_);
    add_opening_edges(job_, judged_, streams_, graph_);
    add_unseen_work(job_, judged_, at_other_ends(), graph_);
    pass_on(&StreamEdges::leads_outside, Trust::kAssumed);
    pass_on(&StreamEdges::has_datagrams, Trust::kUnseen);
  }

  std::vector<Span> runs_between_ranks() const {
    std::vector<Span> runs;
    auto add = [&](const std::vector<Transfer>& transfers, std::int32_t peer) {
      for (const Transfer& transfer : transfers)
        if (transfer.count > 1 && (peer < 0 || peer != rank_of(transfer))) runs.push_back(transfer.call);
    };
    for (const auto& [id, end] : streams_.ends) {
      if (end.of_store || end.datagrams) continue;  // a store's are one message each
      auto peer = end.peer ? streams_.ends.find(*end.peer) : streams_.ends.end();
      bool known = peer != streams_.ends.end();
      add(end.sent, known && !peer->second.received.empty() ? rank_of(peer->second.received.front()) : -1);
      add(end.received, known && !peer->second.sent.empty() ? rank_of(peer->second.sent.front()) : -1);
    }
    return runs;
  }

 private:
  struct Moment {
    const Transfer* transfer;
    EndId end;
    bool sends;
  };

  std::int32_t rank_of(const Transfer& transfer) const {
    return job_.processes[transfer.call.thread.process].rank;
  }
  // A store's server knows nothing but what it is asked to keep.
  static bool is_stores_own(const StreamEnd& end) { return end.of_store && end.requests.empty(); }
  bool serves(const Transfer& transfer) const { return servers_.count(transfer.call.thread) > 0; }

  void add_nodes() {
    for (auto& [id, end] : streams_.ends) {
      auto is_apart = [&, own = is_stores_own(end)](const Transfer& call) { return own || serves(call); };
      for (Transfer& sent : end.sent)
        sent.node = is_apart(sent) ? graph_.meeting() : graph_.before(sent.call);
      for (Transfer& received : end.received)
        received.node = is_apart(received) ? graph_.meeting() : graph_.after(received.call);
    }
  }

  // The calls of each server, in the order in which it made them.
  void serve() {
    std::map<ThreadId, std::vector<Moment>> moments;
    for (const auto& [id, end] : streams_.ends) {
      if (is_stores_own(end)) continue;
      for (const Transfer& sent : end.sent)
        if (serves(sent)) moments[sent.call.thread].push_back({&sent, id, true});
      for (const Transfer& received : end.received)
        if (serves(received)) moments[received.call.thread].push_back({&received, id, false});
    }
    for (auto& [thread, calls] : moments) {
      std::stable_sort(calls.begin(), calls.end(), [](const Moment& a, const Moment& b) {
        return a.transfer->call.begin_ns < b.transfer->call.begin_ns;
      });
      serve(thread, calls);
    }
  }

  void serve(ThreadId thread, const std::vector<Moment>& calls) {
    std::map<EndId, Node> latest;
    const Moment* asked = nullptr;  // the request that came last
    for (const Moment& call : calls) {
      Node node = call.transfer->node;
      auto [own, fresh] = latest.emplace(call.end, kNoNode);
      graph_.edge(own->second, node, EdgeKind::kMessage);
      own->second = node;
      if (!call.sends) {
        asked = &call;
        graph_.edge(node, graph_.after(call.transfer->call), EdgeKind::kMessage);
        continue;
      }
      graph_.edge(graph_.start_of(thread), node, EdgeKind::kProgram);
      if (asked && asked->end != call.end) graph_.edge(asked->transfer->node, node, EdgeKind::kMessage);
      // Any earlier request may be what this answer tells of.
      graph_.edge(graph_.before(call.transfer->call), node, EdgeKind::kMessage, Trust::kUnseen);
    }
  }

  void connect(const StreamEnd& from, const StreamEnd& to) {
    Line sent = line_of(from.sent), received = line_of(to.received);
    Trust trust = std::max(from.trust, to.trust);
    if (!sent.sure || !received.sure) trust = Trust::kUnseen;
    std::set<ThreadId> senders;
    for (const Transfer& transfer : from.sent) senders.insert(transfer.call.thread);
    auto piece = sent.pieces.begin();
    for (const Piece& taken : received.pieces) {
      while (piece != sent.pieces.end() && piece->end <= taken.first) ++piece;
      std::uint64_t told = taken.first;
      for (auto part = piece; part != sent.pieces.end() && part->first < taken.end; ++part) {
        if (part->first > told) from_unseen(senders, taken);
        told = part->end;
        link(*part, taken, trust);
      }
      if (told < taken.end) from_unseen(senders, taken);
    }
  }

  // Bytes are counted, not looked at: where calls are missing a send may seem to come after its receive.
  void link(const Piece& sent, const Piece& received, Trust trust) {
    const Span &sending = sent.transfer->call, &taking = received.transfer->call;
    std::int64_t error_ns = job_.clock_error_between(sending.thread.process, taking.thread.process);
    if (sending.begin_ns <= taking.end_ns + error_ns)
      graph_.edge(sent.transfer->node, received.transfer->node, EdgeKind::kMessage, trust);
  }

  // Bytes that nobody is known to have sent: whoever holds that end may have, up to then.
  void from_unseen(const std::set<ThreadId>& senders, const Piece& taken) {
    for (ThreadId thread : senders)
      graph_.edge(graph_.up_to(thread, taken.transfer->call.end_ns), taken.transfer->node, EdgeKind::kMessage,
                  Trust::kUnseen);
  }

  // Of pipes and pairs into which nobody recorded has sent: a child that was given the end, and left no
  // trace, has.
  std::vector<UnseenWork> at_other_ends() {
    std::vector<UnseenWork> children;
    for (const auto& [id, end] : streams_.ends) {
      auto other = end.peer && end.paired_ns ? streams_.ends.find(*end.peer) : streams_.ends.end();
      if (other == streams_.ends.end() || !other->second.sent.empty()) continue;
      for (const Transfer& received : end.received)
        children.push_back(work_told_by(end.paired_ns, received.call, graph_));
      for (const Span& found : end.found_ended)
        if (held_only_by(other->second, found.thread.process))
          children.push_back(work_told_by(end.paired_ns, found, graph_));
    }
    return children;
  }

  static bool held_only_by(const StreamEnd& end, std::uint32_t process) {
    return std::all_of(end.holders.begin(), end.holders.end(),
                       [&](const auto& holder) { return holder.first == process; });
  }

  void join(const Joint& joint) {
    graph_.edge(graph_.before(joint.connect), graph_.after(joint.accept), EdgeKind::kMessage);
    if (joint.listen && joint.connected)
      graph_.edge(graph_.before(*joint.listen), graph_.after(joint.connect), EdgeKind::kMessage);
  }

  bool has_datagrams(const StreamEnd& end) const { return end.datagrams; }
  bool leads_outside(const StreamEnd& end) const {
    if (end.of_store || end.datagrams) return false;
    if (!end.peer) return true;
    auto peer = streams_.ends.find(*end.peer);
    return peer == streams_.ends.end() || (peer->second.sent.empty() && peer->second.received.empty());
  }

  // What a peer outside the trace was told by anybody it may tell to anybody later; a datagram that is
  // received may be any that was sent.
  void pass_on(bool (StreamEdges::*concerns)(const StreamEnd&) const, Trust trust) {
    std::vector<Moment> moments;
    for (const auto& [id, end] : streams_.ends) {
      if (!(this->*concerns)(end)) continue;
      for (const Transfer& sent : end.sent) moments.push_back({&sent, id, true});
      for (const Transfer& received : end.received) moments.push_back({&received, id, false});
    }
    auto at = [](const Moment& moment) {
      return moment.sends ? moment.transfer->call.begin_ns : moment.transfer->call.end_ns;
    };
    std::stable_sort(moments.begin(), moments.end(),
                     [&](const Moment& a, const Moment& b) { return at(a) < at(b); });
    Accumulated told(graph_, EdgeKind::kMessage);
    for (const Moment& moment : moments) {
      if (moment.sends)
        told.release(moment.transfer->node, trust);
      else
        told.acquire(moment.transfer->node, trust);
    }
  }

  const Job& job_;
  const std::vector<ThreadId>& judged_;
  Graph& graph_;
  StreamEnds streams_;
  std::set<ThreadId> servers_;
};

}  // namespace

std::vector<Span> add_stream_edges(const Job& job, const std::vector<ThreadId>& judged, Graph& graph) {
  StreamEdges edges(job, judged, graph);
  edges.add();
  return edges.runs_between_ranks();
}

}  // namespace ddpscope::ordering
