// Updates of executable graphs: nodes and edges stay, and so do the devices of the work.
#include <algorithm>
#include <map>

#include "standin/cuda/graph_exec.h"

namespace ddpscope::standin {
namespace {

using Places = std::map<const GraphNode*, std::size_t>;

Places places_of(const Graph& graph) {
  Places places;
  for (const auto& node : graph.nodes()) places.emplace(node.get(), places.size());
  return places;
}

bool needs_alike(const GraphNode& a, const Places& in_a, const GraphNode& b, const Places& in_b) {
  const auto needs = [](const GraphNode& node, const Places& places) {
    std::vector<std::size_t> all;
    for (const GraphNode* needed : node.dependencies) all.push_back(places.at(needed));
    std::ranges::sort(all);
    return all;
  };
  return needs(a, in_a) == needs(b, in_b);
}

bool same_devices(const Activity& old, const Activity& fresh) {
  if (old.kind == Activity::kKernel) return old.device == fresh.device;
  return old.from_device == fresh.from_device && old.to_device == fresh.to_device;
}

bool same_shape(const NodeWork& old, const NodeWork& fresh) {
  if (!old.parameters || !fresh.parameters) return old.parameters == fresh.parameters;
  const auto &a = old.parameters->memset, &b = fresh.parameters->memset;
  if (a.height == 1) return b.height == 1;
  return a.height == b.height && a.width == b.width && a.elementSize == b.elementSize && a.pitch == b.pitch;
}

bool same_choices(const Conditional& old, const Conditional& fresh) {
  return old.type == fresh.type && old.bodies.size() == fresh.bodies.size();
}

}  // namespace

cudaGraphExecUpdateResult compare(const NodeWork& old, const NodeWork& fresh) {
  if (old.activity && fresh.activity) {
    if (!same_devices(*old.activity, *fresh.activity)) return cudaGraphExecUpdateErrorParametersChanged;
    if (old.activity->cooperative != fresh.activity->cooperative)
      return cudaGraphExecUpdateErrorAttributesChanged;
  }
  const bool alike =
      (old.type != cudaGraphNodeTypeMemset || same_shape(old, fresh)) &&
      (!old.conditional || !fresh.conditional || same_choices(*old.conditional, *fresh.conditional));
  return alike ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorParametersChanged;
}

cudaGraphExecUpdateResult compare(const Graph& old, const Graph& fresh, const GraphNode*& differs) {
  differs = nullptr;
  const auto &was = old.nodes(), &is = fresh.nodes();
  if (was.size() != is.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  const Places in_old = places_of(old), in_fresh = places_of(fresh);
  for (std::size_t i = 0; i < is.size(); ++i) {
    differs = is[i].get();
    if (!needs_alike(*was[i], in_old, *is[i], in_fresh)) return cudaGraphExecUpdateErrorTopologyChanged;
    if (was[i]->does.type != is[i]->does.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (const auto result = compare(was[i]->does, is[i]->does); result != cudaGraphExecUpdateSuccess)
      return result;
    const auto graphs_were = was[i]->does.graphs(), graphs_are = is[i]->does.graphs();
    for (std::size_t within = 0; within < graphs_are.size(); ++within) {
      const GraphNode* differs_within = nullptr;
      const auto result = compare(*graphs_were[within], *graphs_are[within], differs_within);
      if (result != cudaGraphExecUpdateSuccess) return result;
    }
  }
  differs = nullptr;
  return cudaGraphExecUpdateSuccess;
}

// The node objects stay: they hold whether they are enabled, and which node of the program they belong to.
void take_over(Graph& graph, const Graph& fresh) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    NodeWork& old = graph.nodes()[i]->does;
    NodeWork does = fresh.nodes()[i]->does;
    const auto graphs = old.graphs(), graphs_fresh = does.graphs();
    for (std::size_t within = 0; within < graphs.size(); ++within)
      take_over(*graphs[within], *graphs_fresh[within]);
    does.child = old.child;
    if (does.conditional) {
      auto conditional = std::make_shared<Conditional>(*old.conditional);
      conditional->condition = does.conditional->condition;
      does.conditional = std::move(conditional);
    }
    old = std::move(does);
  }
}

}  // namespace ddpscope::standin
