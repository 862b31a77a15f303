// Entry points that add nodes to a graph.
#include <cuda_runtime_api.h>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/graph.h"
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

NodeWork host_work(cudaHostFn_t function, void* data) {
  require(function != nullptr, cudaErrorInvalidValue);
  return {.type = cudaGraphNodeTypeHost, .work = [function, data] {
            HostFunctionScope scope;
            function(data);
          }};
}

NodeWork child_work(cudaGraph_t graph) {
  return {.type = cudaGraphNodeTypeGraph, .child = find_graph(graph)->copy()};
}

NodeWork event_work(cudaGraphNodeType type, cudaEvent_t event) {
  return {.type = type, .event = find_event(event)};
}

NodeWork alloc_work(size_t bytes, const cudaMemPoolProps& pool, void** pointer) {
  return allocation_work(bytes, device_at(pool.location.id), pointer);
}

NodeWork conditional_work(cudaConditionalNodeParams& p) {
  const bool sized = p.type == cudaGraphCondTypeSwitch ? p.size >= 1
                     : p.type == cudaGraphCondTypeIf   ? p.size == 1 || p.size == 2
                                                       : p.size == 1;
  require(sized, cudaErrorInvalidValue);
  auto node = std::make_shared<Conditional>(p.type, find_condition(p.handle));
  for (unsigned i = 0; i < p.size; ++i) {
    node->bodies.push_back(std::make_shared<Graph>());
    node->handles.push_back(add_graph(node->bodies.back()));
  }
  p.phGraph_out = node->handles.data();
  return {.type = cudaGraphNodeTypeConditional, .conditional = node};
}

// Fails with cudaErrorNotSupported for nodes that are none of ours.
NodeWork work_of(cudaGraphNodeParams& p) {
  switch (p.type) {
    case cudaGraphNodeTypeKernel:
      return kernel_work(p.kernel.func, p.kernel.gridDim, p.kernel.blockDim, p.kernel.kernelParams,
                         p.kernel.sharedMemBytes);
    case cudaGraphNodeTypeMemcpy:
      return copy_work(p.memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
      return fill_work({p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize, p.memset.width,
                        p.memset.height});
    case cudaGraphNodeTypeHost:
      return host_work(p.host.fn, p.host.userData);
    case cudaGraphNodeTypeGraph:
      return child_work(p.graph.graph);
    case cudaGraphNodeTypeEmpty:
      return {};
    case cudaGraphNodeTypeWaitEvent:
      return event_work(p.type, p.eventWait.event);
    case cudaGraphNodeTypeEventRecord:
      return event_work(p.type, p.eventRecord.event);
    case cudaGraphNodeTypeMemAlloc:
      return alloc_work(p.alloc.bytesize, p.alloc.poolProps, &p.alloc.dptr);
    case cudaGraphNodeTypeMemFree:
      return {.type = p.type};
    case cudaGraphNodeTypeConditional:
      return conditional_work(p.conditional);
    default:
      throw Failure{cudaErrorNotSupported};
  }
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
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr && params->extra == nullptr, cudaErrorInvalidValue);
    return kernel_work(params->func, params->gridDim, params->blockDim, params->kernelParams,
                       params->sharedMemBytes);
  });
}

RUNTIME_API(cudaGraphAddMemcpyNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaMemcpy3DParms* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr, cudaErrorInvalidValue);
    return copy_work(*params);
  });
}

RUNTIME_API(cudaGraphAddMemcpyNode1D,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
            (node, graph, dependencies, count, to, from, bytes, kind)) {
  return add({node, graph, dependencies, count}, [&] {
    cudaMemcpy3DParms params{};
    params.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
    params.dstPtr = {to, bytes, bytes, 1};
    params.extent = {bytes, 1, 1};
    params.kind = kind;
    return copy_work(params);
  });
}

RUNTIME_API(cudaGraphAddMemsetNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaMemsetParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr, cudaErrorInvalidValue);
    return fill_work(*params);
  });
}

RUNTIME_API(cudaGraphAddHostNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             const cudaHostNodeParams* params),
            (node, graph, dependencies, count, params)) {
  return add({node, graph, dependencies, count}, [&] {
    require(params != nullptr, cudaErrorInvalidValue);
    return host_work(params->fn, params->userData);
  });
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
    return alloc_work(params->bytesize, params->poolProps, &params->dptr);
  });
}

RUNTIME_API(cudaGraphAddMemFreeNode,
            (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
             void* pointer),
            (node, graph, dependencies, count, pointer)) {
  return add({node, graph, dependencies, count}, [&] {
    require(pointer != nullptr, cudaErrorInvalidValue);
    return NodeWork{.type = cudaGraphNodeTypeMemFree};
  });
}

}  // extern "C"
