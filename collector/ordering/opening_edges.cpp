// For each opening that waits, the openings of the other direction that began before it returned.
#include "collector/ordering/opening_edges.h"

#include <algorithm>
#include <map>

#include "collector/ordering/unseen_children.h"

namespace ddpscope::ordering {
namespace {

// Those of one direction, by thread and begin.
using Openings = std::map<ThreadId, std::vector<Span>>;

class OpeningEdges {
 public:
  OpeningEdges(const model::Job& job, Graph& graph) : job_(job), graph_(graph) {}

  void add(const StreamEnd& end) {
    Openings receiving, sending;
    for (const PipeOpening& opening : end.opened) {
      if (opening.receives) receiving[opening.call.thread].push_back(opening.call);
      if (opening.sends) sending[opening.call.thread].push_back(opening.call);
    }
    for (const PipeOpening& opening : end.opened)
      if (opening.waits) release(opening.call, opening.receives ? sending : receiving);
  }

  const std::vector<UnseenWork>& by_nobody_seen() const { return by_nobody_seen_; }

 private:
  // `others`: the openings that let `own` return, among those that came too late to.
  void release(const Span& own, const Openings& others) {
    const Span* first = nullptr;
    std::size_t before = 0, threads = 0;
    std::vector<const Span*> latest;  // of each thread
    for (const auto& [thread, calls] : others) {
      std::int64_t error_ns = job_.clock_error_between(thread.process, own.thread.process);
      auto late = std::upper_bound(calls.begin(), calls.end(), own.end_ns + error_ns,
                                   [](std::int64_t ns, const Span& call) { return ns < call.begin_ns; });
      if (late == calls.begin()) continue;
      ++threads;
      before += static_cast<std::size_t>(late - calls.begin());
      first = &calls.front();
      latest.push_back(&*std::prev(late));
    }
    if (!threads) return by_nobody_seen_.push_back(work_told_by({}, own, graph_));
    if (threads == 1) link(*first, own, Trust::kSeen);
    if (before == 1) return;
    for (const Span* call : latest) link(*call, own, Trust::kUnseen);
  }

  void link(const Span& from, const Span& own, Trust trust) {
    if (from.thread != own.thread)
      graph_.edge(graph_.before(from), graph_.after(own), EdgeKind::kMessage, trust);
  }

  const model::Job& job_;
  Graph& graph_;
  std::vector<UnseenWork> by_nobody_seen_;
};

}  // namespace

void add_opening_edges(const model::Job& job, const std::vector<ThreadId>& judged, const StreamEnds& streams,
                       Graph& graph) {
  OpeningEdges edges(job, graph);
  for (const auto& [id, end] : streams.ends) edges.add(end);
  add_unseen_work(job, judged, edges.by_nobody_seen(), graph);
}

}  // namespace ddpscope::ordering
