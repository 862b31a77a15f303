// A stream ends when the last process that holds its other end has given it up.
#include "collector/ordering/ending_edges.h"

#include <algorithm>

namespace ddpscope::ordering {
namespace {

class EndingEdges {
 public:
  EndingEdges(const model::Job& job, Graph& graph) : job_(job), graph_(graph) {}

  // `found`: the receive that found the end of `own`, whose other end is `other`; the same for a pipe.
  void add(const Span& found, const StreamEnd& own, const StreamEnd& other) {
    Node acquire = graph_.after(found);
    bool given_up_by_somebody = false;
    for (const auto& [process, threads] : other.holders) {
      if (const Span* given_up = last_given_up(other, process, found)) {
        graph_.edge(graph_.before(*given_up), acquire, EdgeKind::kMessage, own.trust);
        given_up_by_somebody = true;
      } else if (process == found.thread.process) {
        continue;  // it has closed what it held itself, or holds the reading end
      } else if (ended_before(process, found)) {
        graph_.edge(graph_.end_of_process(process), acquire, EdgeKind::kMessage, own.trust);
        given_up_by_somebody = true;
      } else {
        for (std::uint16_t thread : threads)
          graph_.edge(graph_.up_to({process, thread}, found.end_ns), acquire, EdgeKind::kMessage,
                      Trust::kUnseen);
      }
    }
    add_heirs(found, other, acquire);
    if (!given_up_by_somebody && !other.made) add_anybody(found, acquire);
  }

 private:
  bool ended_before(std::uint32_t process, const Span& found) const {
    return job_.processes[process].last_ns <=
           found.end_ns + job_.clock_error_between(process, found.thread.process);
  }

  const Span* last_given_up(const StreamEnd& end, std::uint32_t process, const Span& found) const {
    const Span* last = nullptr;
    std::int64_t until_ns = found.end_ns + job_.clock_error_between(process, found.thread.process);
    for (const Span& call : end.given_up)
      if (call.thread.process == process && call.begin_ns <= until_ns) last = &call;
    return last;
  }

  // Children that were given the end and never used it: until they end, nothing tells.
  void add_heirs(const Span& found, const StreamEnd& other, Node acquire) {
    for (std::uint32_t child = 0; child < job_.processes.size(); ++child) {
      std::int32_t parent = job_.processes[child].parent;
      bool may_hold = parent >= 0 && other.holders.count(static_cast<std::uint32_t>(parent)) &&
                      !other.holders.count(child) && ended_before(child, found);
      if (may_hold) graph_.edge(graph_.end_of_process(child), acquire, EdgeKind::kMessage, Trust::kUnseen);
    }
  }

  void add_anybody(const Span& found, Node acquire) {
    for (std::uint32_t process = 0; process < job_.processes.size(); ++process) {
      if (process == found.thread.process) continue;
      std::set<std::uint16_t> threads;
      for (const trace::RecordSpan& span : job_.processes[process].file.records())
        threads.insert(span.thread);
      for (std::uint16_t thread : threads)
        graph_.edge(graph_.up_to({process, thread}, found.end_ns), acquire, EdgeKind::kMessage,
                    Trust::kUnseen);
    }
  }

  const model::Job& job_;
  Graph& graph_;
};

}  // namespace

void add_ending_edges(const model::Job& job, const StreamEnds& streams, Graph& graph) {
  EndingEdges edges(job, graph);
  for (const auto& [id, end] : streams.ends) {
    if (end.of_store) continue;
    auto other =
        streams.ends.find(end.peer.value_or(id));  // without a peer: a pipe, or one outside the trace
    if (other == streams.ends.end()) continue;
    for (const Span& found : end.found_ended) edges.add(found, end, other->second);
  }
}

}  // namespace ddpscope::ordering
