// Nodes, edges, program order.
#include "collector/ordering/graph.h"

#include <algorithm>
#include <tuple>

namespace ddpscope::ordering {

Graph::Thread& Graph::find(ThreadId thread) {
  if (last_found_ < threads_.size() && threads_[last_found_].id == thread) return threads_[last_found_];
  auto [found, fresh] = numbers_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size()));
  if (fresh) threads_.push_back({.id = thread, .nodes = {}});
  last_found_ = found->second;
  return threads_[last_found_];
}

std::uint32_t Graph::number_of(ThreadId thread) const {
  auto found = numbers_.find(thread);
  return found == numbers_.end() ? kNoThread : found->second;
}

Node Graph::add(ThreadId id, std::int64_t ns, std::int64_t began_ns, Phase phase) {
  Thread& thread = find(id);
  auto node = static_cast<Node>(nodes_.size());
  thread.nodes.push_back(node);
  nodes_.push_back({ns, began_ns, static_cast<std::uint32_t>(&thread - threads_.data()), phase});
  return node;
}

Node Graph::start_of(ThreadId id) {
  if (find(id).start == kNoNode) {
    Node node = add(id, kEarliest, kEarliest, Phase::kStart);
    find(id).start = node;
  }
  return find(id).start;
}

Node Graph::end_of(ThreadId id) {
  if (find(id).end == kNoNode) {
    Node node = add(id, kLatest, kLatest, Phase::kEnd);
    find(id).end = node;
  }
  return find(id).end;
}

Node Graph::start_of_process(std::uint32_t process) {
  Ends& ends = processes_[process];
  if (ends.start == kNoNode) ends.start = meeting();
  return ends.start;
}

Node Graph::end_of_process(std::uint32_t process) {
  Ends& ends = processes_[process];
  if (ends.end == kNoNode) ends.end = meeting();
  return ends.end;
}

Node Graph::known_start_of(std::uint32_t process) const {
  auto known = processes_.find(process);
  return known == processes_.end() ? kNoNode : known->second.start;
}

Node Graph::meeting() {
  nodes_.push_back({0, 0, kNoThread, Phase::kRelease});
  return static_cast<Node>(nodes_.size() - 1);
}

void Graph::edge(Node from, Node to, EdgeKind kind, Trust trust) {
  if (from != kNoNode && to != kNoNode && from != to) edges_.push_back({from, to, kind, trust});
}

bool Graph::in_program_order(Node a, Node b) const {
  auto key = [&](Node node) {
    const NodeData& data = nodes_[node];
    return std::tuple(data.ns, data.began_ns, data.phase, node);
  };
  return key(a) < key(b);
}

void Graph::finish() {
  auto threads = threads_.size();
  for (std::size_t i = 0; i < threads; ++i) {
    ThreadId id = threads_[i].id;
    auto process = processes_.find(id.process);
    if (process == processes_.end()) continue;
    if (process->second.start != kNoNode) edge(process->second.start, start_of(id), EdgeKind::kProcess);
    if (process->second.end != kNoNode) edge(end_of(id), process->second.end, EdgeKind::kProcess);
  }
  auto earlier = [&](Node a, Node b) { return in_program_order(a, b); };
  for (Thread& thread : threads_)
    if (!std::is_sorted(thread.nodes.begin(), thread.nodes.end(), earlier))
      std::sort(thread.nodes.begin(), thread.nodes.end(), earlier);
}

const std::vector<Node>& Graph::nodes_of(ThreadId thread) const {
  static const std::vector<Node> kNone;
  auto found = numbers_.find(thread);
  return found == numbers_.end() ? kNone : threads_[found->second].nodes;
}

std::vector<ThreadId> Graph::threads() const {
  std::vector<ThreadId> ids;
  for (const Thread& thread : threads_) ids.push_back(thread.id);
  return ids;
}

}  // namespace ddpscope::ordering
