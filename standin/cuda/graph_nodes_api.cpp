// Entry points that add nodes to a graph.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

struct Place {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t count;
};

/// `make()` gives what the node does.
template <class Make>
cudaError_t add(const Place& place, Make make) {
  return enter([&] {
    require(place.node != nullptr, cudaErrorInvalidValue);
    const GraphRef graph = find_graph(place.graph);
    *place.node = handle_of(graph->add(make(), find_nodes(place.dependencies, place.count)));
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphAddNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
             [[maybe_unused]] const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* params),
            (node, graph, dependencies, edges, count, params)) {
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr, cudaErrorInvalidValue);
    return work_of(*params);
  });
}

RUNTIME_API(cudaGraphConditionalHandleCreate,
            (cudaGraphConditionalHandle * handle, cudaGraph_t graph, unsigned int value, unsigned int flags),
            (handle, graph, value, flags)) {
  return enter([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    *handle = add_condition(*find_graph(graph), value, flags & cudaGraphCondAssignDefault);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphAddKernelNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaKernelNodeParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] { return kernel_work(params); });
}

RUNTIME_API(cudaGraphAddMemcpyNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaMemcpy3DParms* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] { return copy_work(params); });
}

RUNTIME_API(cudaGraphAddMemcpyNode1D,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
            (node, graph, dependencies, count, to, from, bytes, kind)) {
  return add({node, graph, dependencies, count}, [&] { return flat_copy_work(to, from, bytes, kind); });
}

RUNTIME_API(cudaGraphAddMemcpyNodeToSymbol,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind),
            (node, graph, dependencies, count, symbol, from, bytes, offset, kind)) {
  return add({node, graph, dependencies, count},
             [&] { return flat_copy_work(inside_variable(symbol, offset, bytes), from, bytes, kind); });
}

RUNTIME_API(cudaGraphAddMemcpyNodeFromSymbol,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
            (node, graph, dependencies, count, to, symbol, bytes, offset, kind)) {
  return add({node, graph, dependencies, count},
             [&] { return flat_copy_work(to, inside_variable(symbol, offset, bytes), bytes, kind); });
}

RUNTIME_API(cudaGraphAddMemsetNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaMemsetParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] { return fill_work(params); });
}

RUNTIME_API(cudaGraphAddHostNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaHostNodeParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] { return host_work(params); });
}

RUNTIME_API(cudaGraphAddChildGraphNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             cudaGraph_t child),
            (node, graph, dependencies, count, child)) {
  return add({node, graph, dependencies, count}, [&] { return child_work(child); });
}

RUNTIME_API(cudaGraphAddEmptyNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count),
            (node, graph, dependencies, count)) {
  return add({node, graph, dependencies, count}, [] { return NodeWork{}; });
}

RUNTIME_API(cudaGraphAddEventRecordNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             cudaEvent_t event),
            (node, graph, dependencies, count, event)) {
  return add({node, graph, dependencies, count},
             [&] { return event_work(cudaGraphNodeTypeEventRecord, event); });
}

RUNTIME_API(cudaGraphAddEventWaitNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             cudaEvent_t event),
            (node, graph, dependencies, count, event)) {
  return add({node, graph, dependencies, count},
             [&] { return event_work(cudaGraphNodeTypeWaitEvent, event); });
}

RUNTIME_API(cudaGraphAddMemAllocNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             cudaMemAllocNodeParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr, cudaErrorInvalidValue);
    return allocation_work(*params);
  });
}

RUNTIME_API(cudaGraphAddMemFreeNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             void* pointer),
            (node, graph, dependencies, count, pointer)) {
  return add({node, graph, dependencies, count}, [&] { return free_work(pointer); });
}

}  // extern "C"
