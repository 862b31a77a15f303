// Looks for a way between the two on which as few steps as possible are unseen.
#include "collector/ordering/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "collector/ordering/losses.h"
#include "collector/ordering/shared_memory.h"
#include "collector/ordering/stream_functions.h"

namespace ddpscope::ordering {
namespace {

// Backwards from the later call.
class WayBack {
 public:
  WayBack(const Graph& graph, const Span& first, const Span& second)
      : graph_(graph), first_(first), first_in_(graph.nodes() + 1), steps_(graph.nodes()) {
    for (const Edge& edge : graph.edges()) ++first_in_[edge.to + 1];
    for (std::size_t i = 1; i < first_in_.size(); ++i) first_in_[i] += first_in_[i - 1];
    in_.resize(graph.edges().size());
    std::vector<std::uint32_t> next(first_in_.begin(), first_in_.end() - 1);
    for (std::uint32_t i = 0; i < graph.edges().size(); ++i) in_[next[graph.edges()[i].to]++] = i;
    previous_.assign(graph.nodes(), kNoNode);
    for (ThreadId thread : graph.threads()) {
      const std::vector<Node>& own = graph.nodes_of(thread);
      for (std::size_t i = 1; i < own.size(); ++i) previous_[own[i]] = own[i - 1];
    }
    for (Node node : graph.nodes_of(second.thread))
      if (graph.ns(node) <= second.begin_ns) last_ = node;
  }

  // The unseen steps, the earliest first; nothing if there is no way.
  std::vector<Edge> unseen() {
    std::vector<Edge> found;
    for (Node node = arrive(); node != kNoNode && node != last_;) {
      const Step& step = *steps_[node];
      Node told = step.to;  // the thread's, if it was told through a meeting
      while (!graph_.on_thread(told) && told != last_) told = steps_[told]->to;
      if (step.unseen) found.push_back({node, told, step.kind, Trust::kUnseen});
      node = step.to;
    }
    return found;
  }

 private:
  struct Step {
    Node to;
    EdgeKind kind;
    bool unseen;
    std::uint32_t cost;  // unseen steps from here on
  };

  bool is_there(Node node) const {
    return graph_.on_thread(node) && graph_.thread(graph_.thread_number(node)) == first_.thread &&
           graph_.ns(node) >= first_.end_ns;
  }

  Node arrive() {
    if (last_ == kNoNode) return kNoNode;
    steps_[last_] = Step{kNoNode, EdgeKind::kProgram, false, 0};
    queue_.emplace_back(last_, 0);
    while (!queue_.empty()) {
      auto [node, cost] = queue_.front();
      queue_.pop_front();
      if (cost > steps_[node]->cost) continue;
      if (is_there(node)) return node;
      if (previous_[node] != kNoNode) reach(previous_[node], {node, EdgeKind::kProgram, false, cost});
      for (std::uint32_t i = first_in_[node]; i < first_in_[node + 1]; ++i) {
        const Edge& edge = graph_.edges()[in_[i]];
        bool unseen = edge.trust == Trust::kUnseen;
        reach(edge.from, {node, edge.kind, unseen, cost + unseen});
      }
    }
    return kNoNode;
  }

  void reach(Node node, const Step& step) {
    if (steps_[node] && steps_[node]->cost <= step.cost) return;
    steps_[node] = step;
    if (step.unseen)
      queue_.emplace_back(node, step.cost);
    else
      queue_.emplace_front(node, step.cost);
  }

  const Graph& graph_;
  const Span& first_;
  std::vector<std::uint32_t> first_in_, in_;  // edges by the node to which they lead
  std::vector<Node> previous_;                // in program order
  std::vector<std::optional<Step>> steps_;
  std::deque<std::pair<Node, std::uint32_t>> queue_;
  Node last_ = kNoNode;
};

class Words {
 public:
  Words(const model::Job& job, const Graph& graph) : job_(job), graph_(graph) {}

  std::string tell(const Edge& step) const {
    switch (step.kind) {
      case EdgeKind::kHandOver:
        return tell_hand_over(step);
      case EdgeKind::kCollective:
        return fmt::format(
            "{} asked{} whether an asynchronous collective was complete, which it was: whether the program "
            "waits where it is not is not known",
            actor(step.to), at(step.to));
      case EdgeKind::kFile:
        return fmt::format("{} may have waited for what it found of a file{}", actor(step.to), at(step.to));
      case EdgeKind::kProcess:
        return fmt::format("{} may have been told{}, by a signal or a process that left no trace",
                           actor(step.to), at(step.to));
      default:
        return fmt::format(
            "{} was told something{}, of which it is not known whose message it was (queues, datagrams, a "
            "server's answers, keys of a store)",
            actor(step.to), at(step.to));
    }
  }

 private:
  std::string tell_hand_over(const Edge& step) const {
    if (!graph_.at_some_time(step.to)) return fmt::format("who started {} is not known", actor(step.to));
    ThreadId from = graph_.thread(graph_.thread_number(step.from));
    ThreadId to = graph_.thread(graph_.thread_number(step.to));
    return fmt::format(
        "what threads {} and {} of {} told each other shows in no call (variables of Python), or was not "
        "recorded",
        std::min(from.thread, to.thread), std::max(from.thread, to.thread), process(to));
  }

  std::string process(ThreadId id) const {
    std::int32_t rank = job_.processes[id.process].rank;
    return rank >= 0 ? fmt::format("rank {}", rank) : "another process";
  }

  std::string actor(Node node) const {
    if (!graph_.on_thread(node)) return "a process";
    ThreadId id = graph_.thread(graph_.thread_number(node));
    return fmt::format("thread {} of {}", id.thread, process(id));
  }

  std::string at(Node node) const {
    if (!graph_.on_thread(node) || !graph_.at_some_time(node)) return "";
    return fmt::format(" at {:.3f} s", static_cast<double>(graph_.ns(node)) * 1e-9);
  }

  const model::Job& job_;
  const Graph& graph_;
};

}  // namespace

std::string doubt_between(const model::Job& job, const HappensBefore& order, const Span& a, const Span& b) {
  const Span& first = a.begin_ns <= b.begin_ns ? a : b;
  const Span& second = &first == &a ? b : a;
  if (has_unhooked_collectives(job)) return "a collective that no hook saw may order the two";
  if (lost_records(job)) return "records were lost, or a process left no trace";
  if (first.end_ns < complete_from_ns(job)) return "records of that time were overwritten";
  if (!find_stream_function_threads(job, {a.thread, b.thread}).empty())
    return "a function that was enqueued to a stream uses it, and when that ran shows in no call";
  std::vector<Edge> unseen = WayBack(order.graph(), first, second).unseen();
  if (unseen.empty()) unseen = WayBack(order.graph(), second, first).unseen();
  if (!unseen.empty()) return Words(job, order.graph()).tell(unseen.front());
  if (find_shared_memory(job).count(std::minmax(first.thread.process, second.thread.process)))
    return "the two processes share memory, or write into each other's";
  return "the two talked through threads to which others may have told anything";
}

}  // namespace ddpscope::ordering
