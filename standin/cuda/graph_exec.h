// A graph made ready to run, and its runs.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "standin/cuda/graph.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

/// The nodes in an order in which each comes after what it needs, spread over lanes that run side by side.
struct GraphProgram {
  struct Step {
    NodeWork does;
    std::uint64_t node;                ///< id
    std::vector<std::uint32_t> needs;  ///< steps of other lanes, and of the own one but for the one before
    std::uint32_t lane;
    std::vector<std::shared_ptr<const GraphProgram>> bodies;  ///< of a conditional node
  };

  std::uint64_t graph;  ///< id
  std::vector<Step> steps;
  std::vector<std::vector<std::uint32_t>> lanes;  ///< at least one
};

/// Child graphs become steps like the others. Fails with cudaErrorInvalidValue if there is a circle.
std::shared_ptr<const GraphProgram> make_program(const Graph& graph);

// How an executable graph may change (cudaGraphExecUpdate, and the setters of its nodes).

/// `differs`: the node of `fresh` that prevents the update.
cudaGraphExecUpdateResult compare(const Graph& old, const Graph& fresh, const GraphNode*& differs);
/// Of nodes of one type. A fill keeps its shape, work its devices, and a kernel whether it is cooperative.
cudaGraphExecUpdateResult compare(const NodeWork& old, const NodeWork& fresh);
/// The nodes of `graph` get the work of the nodes of `fresh`, which compare() accepted.
void take_over(Graph& graph, const Graph& fresh);

/// Not synchronized but for launches.
class GraphExec : public std::enable_shared_from_this<GraphExec> {
 public:
  /// `graph`: a copy that nobody else changes.
  GraphExec(GraphRef graph, unsigned long long flags);
  ~GraphExec();

  unsigned long long flags() const { return flags_; }
  const GraphRef& graph() const { return graph_; }

  /// Queues a run behind what the stream has, and behind the run before it. In a stream that captures it
  /// becomes a child graph.
  void launch(const StreamRef& stream);

  // Changes apply from the next launch on; earlier launches run as they were. `original` is a node of the
  // graph that this was made of, or of a graph embedded there: another node fails with
  // cudaErrorInvalidValue, and so does a change that CUDA does not allow.

  void change(const GraphNode& original, NodeWork does);
  /// The nodes of a child graph get the work of the nodes of `graph`, which has the same topology.
  void change_child(const GraphNode& original, const Graph& graph);
  void enable(const GraphNode& original, bool enabled);
  const GraphNode& node_of(const GraphNode& original) const;

  /// From the next launch on it is what `graph` says, if that differs in nothing but what its nodes are
  /// given. What it is if not; `differs`: the node of `graph`.
  cudaGraphExecUpdateResult update(const Graph& graph, const GraphNode*& differs);

 private:
  GraphNode& own_node(const GraphNode& original) const;

  const unsigned long long flags_;
  GraphRef graph_;
  std::shared_ptr<const GraphProgram> program_;  ///< null: the graph has changed since
  std::mutex launching_;
  Mark last_;
  std::vector<StreamRef> beside_;  ///< run all lanes but the first, which is the launch's own stream
};

cudaGraphExec_t add_exec(std::shared_ptr<GraphExec> exec);
/// Fail with cudaErrorInvalidResourceHandle.
std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle);
std::shared_ptr<GraphExec> take_exec(cudaGraphExec_t handle);

}  // namespace ddpscope::standin
