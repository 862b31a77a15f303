// Graphs, their nodes, and the handles of both.
#include "standin/cuda/graph.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_set>

#include "standin/cuda/entry.h"
#include "standin/cuda/handle_table.h"

namespace ddpscope::standin {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

struct LiveNodes {
  std::mutex mutex;
  std::unordered_set<const GraphNode*> all;
};

LiveNodes& live_nodes() {
  static auto* nodes = new LiveNodes;
  return *nodes;
}

HandleTable<cudaGraph_t, Graph>& graphs() {
  static auto* table = new HandleTable<cudaGraph_t, Graph>;
  return *table;
}

struct Conditions {
  std::mutex mutex;
  std::map<cudaGraphConditionalHandle, std::weak_ptr<Condition>> all;
};

Conditions& conditions_of_all() {
  static auto* conditions = new Conditions;
  return *conditions;
}

void forget(const GraphNode& node) {
  std::lock_guard lock(live_nodes().mutex);
  live_nodes().all.erase(&node);
}

std::shared_ptr<const Conditional> copy_of_conditional(const Conditional& conditional) {
  auto copied = std::make_shared<Conditional>(conditional);
  for (std::size_t i = 0; i < copied->bodies.size(); ++i) {
    copied->bodies[i] = embed(copied->bodies[i]->copy());
    copied->handles[i] = handle_of(*copied->bodies[i]);
  }
  return copied;
}

}  // namespace

std::vector<GraphRef> NodeWork::graphs() const {
  if (child) return {child};
  return conditional ? conditional->bodies : std::vector<GraphRef>{};
}

NodeWork in_place_of(const NodeWork& old, NodeWork fresh) {
  require(old.type == fresh.type, cudaErrorInvalidValue);
  fresh.attributes = old.attributes;
  if (old.activity && fresh.activity) fresh.activity->cooperative = old.activity->cooperative;
  return fresh;
}

Graph::Graph() : id_(next_id()) {}

Graph::~Graph() {
  for (const auto& node : nodes_) forget(*node);
}

GraphNode& Graph::add(NodeWork does, std::span<GraphNode* const> dependencies) {
  for (const GraphNode* needed : dependencies) require(owns(*needed), cudaErrorInvalidValue);
  nodes_.push_back(std::make_unique<GraphNode>(GraphNode{this, next_id(), std::move(does), {}}));
  GraphNode& added = *nodes_.back();
  for (GraphNode* needed : dependencies) connect(*needed, added);
  std::lock_guard lock(live_nodes().mutex);
  live_nodes().all.insert(&added);
  return added;
}

void Graph::remove(GraphNode& node) {
  for (const auto& other : nodes_) disconnect(node, *other);
  forget(node);
  std::erase_if(nodes_, [&](const auto& other) { return other.get() == &node; });
}

void Graph::connect(GraphNode& from, GraphNode& to) {
  if (std::ranges::find(to.dependencies, &from) == to.dependencies.end()) to.dependencies.push_back(&from);
}

void Graph::disconnect(GraphNode& from, GraphNode& to) { std::erase(to.dependencies, &from); }

std::vector<GraphNode*> Graph::in_order() const {
  std::map<const GraphNode*, std::size_t> place;
  for (std::size_t i = 0; i < nodes_.size(); ++i) place[nodes_[i].get()] = i;
  std::vector<std::size_t> missing(nodes_.size());
  std::vector<std::vector<std::size_t>> dependents(nodes_.size());
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    missing[i] = nodes_[i]->dependencies.size();
    for (const GraphNode* needed : nodes_[i]->dependencies) dependents[place[needed]].push_back(i);
    if (missing[i] == 0) ready.insert(i);
  }
  std::vector<GraphNode*> order;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(nodes_[next].get());
    for (const std::size_t dependent : dependents[next]) {
      if (--missing[dependent] == 0) ready.insert(dependent);
    }
  }
  require(order.size() == nodes_.size(), cudaErrorInvalidValue);
  return order;
}

GraphRef Graph::copy() const {
  auto copied = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes_) {
    NodeWork does = node->does;
    if (does.child) does.child = embed(does.child->copy());
    if (does.conditional) does.conditional = copy_of_conditional(*does.conditional);
    GraphNode& made = copied->add(std::move(does), {});
    made.id = node->id;
    made.original = node.get();
    made.enabled = node->enabled;
    copies[node.get()] = &made;
  }
  for (const auto& node : nodes_) {
    for (const GraphNode* needed : node->dependencies) copied->connect(*copies[needed], *copies[node.get()]);
  }
  copied->keeps = keeps;
  return copied;
}

GraphNode* Graph::copy_of(const GraphNode& original) const {
  for (const auto& node : nodes_) {
    if (node->original == &original && node->id == original.id) return node.get();  // addresses come again
  }
  return nullptr;
}

cudaGraph_t add_graph(GraphRef graph) { return graphs().add(std::move(graph)); }

namespace {

GraphRef or_invalid_value(GraphRef (*look)(cudaGraph_t), cudaGraph_t handle) {
  try {
    return look(handle);
  } catch (const Failure&) {
    throw Failure{cudaErrorInvalidValue};
  }
}

}  // namespace

GraphRef find_graph(cudaGraph_t handle) {
  return or_invalid_value([](cudaGraph_t wanted) { return graphs().find(wanted); }, handle);
}

GraphRef take_graph(cudaGraph_t handle) {
  return or_invalid_value([](cudaGraph_t wanted) { return graphs().take(wanted); }, handle);
}

GraphRef embed(GraphRef graph) {
  const cudaGraph_t handle = add_graph(graph);
  Graph* const embedded = graph.get();
  return GraphRef(embedded, [held = std::move(graph), handle](Graph*) {
    try {
      take_graph(handle);
    } catch (const Failure&) {  // the program has destroyed it, which is not its to do
    }
  });
}

cudaGraphConditionalHandle add_condition(Graph& graph, unsigned initial, bool assigned) {
  auto condition = std::make_shared<Condition>(initial, initial, assigned);
  const auto handle = reinterpret_cast<cudaGraphConditionalHandle>(&condition->value);
  graph.conditions.push_back(condition);
  std::lock_guard lock(conditions_of_all().mutex);
  std::erase_if(conditions_of_all().all, [](const auto& known) { return known.second.expired(); });
  conditions_of_all().all[handle] = condition;
  return handle;
}

std::shared_ptr<Condition> find_condition(cudaGraphConditionalHandle handle) {
  std::lock_guard lock(conditions_of_all().mutex);
  const auto found = conditions_of_all().all.find(handle);
  auto condition = found == conditions_of_all().all.end() ? nullptr : found->second.lock();
  require(condition != nullptr, cudaErrorInvalidValue);
  return condition;
}

GraphNode& find_node(cudaGraphNode_t handle) {
  const auto node = reinterpret_cast<GraphNode*>(handle);
  std::lock_guard lock(live_nodes().mutex);
  require(live_nodes().all.contains(node), cudaErrorInvalidValue);
  return *node;
}

std::vector<GraphNode*> find_nodes(const cudaGraphNode_t* handles, std::size_t count) {
  require(handles != nullptr || count == 0, cudaErrorInvalidValue);
  std::vector<GraphNode*> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(&find_node(handles[i]));
  return nodes;
}

}  // namespace ddpscope::standin
