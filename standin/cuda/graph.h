// A graph: pieces of work, and which of them come before which.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

class Event;
class Graph;
class UserObject;
using GraphRef = std::shared_ptr<Graph>;

/// What decides over a conditional node. Its handle is the address of the value, where a kernel's CPU
/// function sets it.
struct Condition {
  std::atomic<unsigned> value;
  const unsigned initial;
  const bool assigned;  ///< at each launch
};

/// Which body runs, and how often, is decided each time the node does.
struct Conditional {
  cudaGraphConditionalNodeType type;
  std::shared_ptr<Condition> condition;
  std::vector<GraphRef> bodies;      ///< each embedded
  std::vector<cudaGraph_t> handles;  ///< of the bodies
};

using LaunchAttributes = std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue>;

/// What a node does each time its graph runs.
struct NodeWork {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Work work = {};                         ///< kernel, copy, fill, host function; may be empty
  std::optional<Activity> activity = {};  ///< kernel, copy, fill; its stream is that of the launch
  std::shared_ptr<Event> event = {};      ///< event record and wait
  GraphRef child = {};                    ///< child graph: an embedded copy
  std::shared_ptr<void> memory = {};      ///< allocation: what ends with the last graph that has it
  std::shared_ptr<const Conditional> conditional = {};

  /// Kernel, copy, fill, host function, allocation and free: the parameters that the API shows, with the
  /// memory they point to. Null for work that the API has no parameters for.
  std::shared_ptr<const cudaGraphNodeParams> parameters = {};
  LaunchAttributes attributes = {};  ///< kernel; whether it is cooperative is in the activity

  std::vector<GraphRef> graphs() const;  ///< embedded ones: the child, or the bodies
};

/// `fresh` with the attributes of `old`, for the node that has `old`. Fails with cudaErrorInvalidValue where
/// the types differ.
NodeWork in_place_of(const NodeWork& old, NodeWork fresh);

struct GraphNode {
  Graph* graph;
  std::uint64_t id;  ///< of all nodes of the process; a copy of a graph has the same
  NodeWork does;
  std::vector<GraphNode*> dependencies;  ///< each once
  const GraphNode* original = nullptr;   ///< in a copy: the node it was made of
  bool enabled = true;                   ///< false in executable graphs only: runs as an empty node
};

/// Not synchronized, as CUDA's are not.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  ~Graph();

  std::uint64_t id() const { return id_; }
  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }  ///< as they were added
  bool owns(const GraphNode& node) const { return node.graph == this; }

  /// Fails with cudaErrorInvalidValue where a dependency is of another graph.
  GraphNode& add(NodeWork does, std::span<GraphNode* const> dependencies);
  void remove(GraphNode& node);
  void connect(GraphNode& from, GraphNode& to);
  void disconnect(GraphNode& from, GraphNode& to);

  /// Each after what it depends on, else as they were added. Fails with cudaErrorInvalidValue if there is a
  /// circle.
  std::vector<GraphNode*> in_order() const;

  /// With copies of embedded graphs.
  GraphRef copy() const;
  GraphNode* copy_of(const GraphNode& original) const;  ///< null if this is no copy of that node's graph

  std::vector<std::shared_ptr<UserObject>> keeps;      ///< one for each reference
  std::vector<std::shared_ptr<Condition>> conditions;  ///< whose handles were made for it

 private:
  const std::uint64_t id_;
  std::vector<std::unique_ptr<GraphNode>> nodes_;
};

/// Handles of the API. The finds fail with cudaErrorInvalidValue.
cudaGraph_t add_graph(GraphRef graph);
inline cudaGraph_t handle_of(const Graph& graph) {
  return reinterpret_cast<cudaGraph_t>(const_cast<Graph*>(&graph));
}
/// Makes `graph` part of a node: it has a handle until the last copy of the returned reference is gone.
GraphRef embed(GraphRef graph);
GraphRef find_graph(cudaGraph_t handle);
GraphRef take_graph(cudaGraph_t handle);
inline cudaGraphNode_t handle_of(const GraphNode& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(&node));
}
/// Of that graph or any other one. Fails with cudaErrorInvalidValue.
std::shared_ptr<Condition> find_condition(cudaGraphConditionalHandle handle);
cudaGraphConditionalHandle add_condition(Graph& graph, unsigned initial, bool assigned);
GraphNode& find_node(cudaGraphNode_t handle);
std::vector<GraphNode*> find_nodes(const cudaGraphNode_t* handles, std::size_t count);

}  // namespace ddpscope::standin
