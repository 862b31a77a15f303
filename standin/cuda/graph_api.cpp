// Entry points that make graphs, look at them and take them apart.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

// As many as `*count` says, then how many there are; without room only that. What is left over is null.
cudaError_t hand_out(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* room, size_t* count) {
  require(count != nullptr, cudaErrorInvalidValue);
  if (room) {
    for (size_t i = 0; i < *count; ++i) room[i] = i < nodes.size() ? handle_of(*nodes[i]) : nullptr;
  }
  if (!room || *count > nodes.size()) *count = nodes.size();
  return cudaSuccess;
}

void clear_edges(cudaGraphEdgeData* edges, const size_t* count) {
  for (size_t i = 0; edges && count && i < *count; ++i) edges[i] = {};
}

template <class Wanted>
std::vector<GraphNode*> nodes_of(const Graph& graph, Wanted wanted) {
  std::vector<GraphNode*> nodes;
  for (const auto& node : graph.nodes()) {
    if (wanted(*node)) nodes.push_back(node.get());
  }
  return nodes;
}

bool depends(const GraphNode& node, const GraphNode& on) {
  return std::ranges::find(node.dependencies, &on) != node.dependencies.end();
}

template <class Change>
cudaError_t for_each_edge(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                          size_t count, Change change) {
  return enter([&] {
    const GraphRef graph = find_graph(handle);
    const auto begins = find_nodes(from, count), ends = find_nodes(to, count);
    for (size_t i = 0; i < count; ++i) {
      require(graph->owns(*begins[i]) && graph->owns(*ends[i]) && begins[i] != ends[i],
              cudaErrorInvalidValue);
      change(*graph, *begins[i], *ends[i]);
    }
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), (graph, flags)) {
  return enter([&] {
    require(graph != nullptr && flags == 0, cudaErrorInvalidValue);
    *graph = add_graph(std::make_shared<Graph>());
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphDestroy, (cudaGraph_t graph), (graph)) {
  return enter([&] {
    take_graph(graph);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphClone, (cudaGraph_t * copy, cudaGraph_t original), (copy, original)) {
  return enter([&] {
    require(copy != nullptr, cudaErrorInvalidValue);
    *copy = add_graph(find_graph(original)->copy());
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
            (node, original, clone)) {
  return enter([&] {
    require(node != nullptr, cudaErrorInvalidValue);
    const GraphNode* const found = find_graph(clone)->copy_of(find_node(original));
    require(found != nullptr, cudaErrorInvalidValue);
    *node = handle_of(*found);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type), (node, type)) {
  return enter([&] {
    require(type != nullptr, cudaErrorInvalidValue);
    *type = find_node(node).does.type;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
            (graph, nodes, count)) {
  return enter([&] {
    return hand_out(nodes_of(*find_graph(graph), [](const GraphNode&) { return true; }), nodes, count);
  });
}

RUNTIME_API(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
            (graph, nodes, count)) {
  return enter([&] {
    const auto is_root = [](const GraphNode& node) { return node.dependencies.empty(); };
    return hand_out(nodes_of(*find_graph(graph), is_root), nodes, count);
  });
}

RUNTIME_API(cudaGraphGetEdges,
            (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
             size_t* count),
            (graph, from, to, edges, count)) {
  return enter([&] {
    require(count != nullptr && (from == nullptr) == (to == nullptr), cudaErrorInvalidValue);
    std::vector<GraphNode*> begins, ends;
    for (const auto& node : find_graph(graph)->nodes()) {
      begins.insert(begins.end(), node->dependencies.begin(), node->dependencies.end());
      ends.insert(ends.end(), node->dependencies.size(), node.get());
    }
    size_t also = *count;
    hand_out(begins, from, &also);
    const cudaError_t done = hand_out(ends, to, count);
    clear_edges(edges, count);
    return done;
  });
}

RUNTIME_API(cudaGraphNodeGetDependencies,
            (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count),
            (node, nodes, edges, count)) {
  return enter([&] {
    const cudaError_t done = hand_out(find_node(node).dependencies, nodes, count);
    clear_edges(edges, count);
    return done;
  });
}

RUNTIME_API(cudaGraphNodeGetDependentNodes,
            (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count),
            (node, nodes, edges, count)) {
  return enter([&] {
    const GraphNode& on = find_node(node);
    const auto needs_it = [&](const GraphNode& other) { return depends(other, on); };
    const cudaError_t done = hand_out(nodes_of(*on.graph, needs_it), nodes, count);
    clear_edges(edges, count);
    return done;
  });
}

RUNTIME_API(cudaGraphAddDependencies,
            (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
             [[maybe_unused]] const cudaGraphEdgeData* edges, size_t count),
            (graph, from, to, edges, count)) {
  return for_each_edge(graph, from, to, count, [](Graph& changed, GraphNode& begin, GraphNode& end) {
    require(!depends(end, begin), cudaErrorInvalidValue);
    changed.connect(begin, end);
  });
}

RUNTIME_API(cudaGraphRemoveDependencies,
            (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
             [[maybe_unused]] const cudaGraphEdgeData* edges, size_t count),
            (graph, from, to, edges, count)) {
  return for_each_edge(graph, from, to, count, [](Graph& changed, GraphNode& begin, GraphNode& end) {
    require(depends(end, begin), cudaErrorInvalidValue);
    changed.disconnect(begin, end);
  });
}

RUNTIME_API(cudaGraphDestroyNode, (cudaGraphNode_t node), (node)) {
  return enter([&] {
    GraphNode& removed = find_node(node);
    removed.graph->remove(removed);
    return cudaSuccess;
  });
}

}  // extern "C"
