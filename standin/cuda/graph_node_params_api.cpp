// Entry points that read and change the parameters of a graph's nodes. Executable graphs that were made of
// the graph do not change.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

GraphNode& node_of_type(cudaGraphNode_t handle, cudaGraphNodeType type) {
  GraphNode& node = find_node(handle);
  require(node.does.type == type, cudaErrorInvalidValue);
  return node;
}

/// `read(parameters)` returns the part that the API calls the parameters of such a node.
template <class Out, class Read>
cudaError_t get(cudaGraphNode_t handle, cudaGraphNodeType type, Out* out, Read read) {
  return enter([&] {
    require(out != nullptr, cudaErrorInvalidValue);
    const auto& parameters = node_of_type(handle, type).does.parameters;
    require(parameters != nullptr, cudaErrorNotSupported);
    *out = read(*parameters);
    return cudaSuccess;
  });
}

/// `make()` returns the node's new work.
template <class Make>
cudaError_t set(cudaGraphNode_t handle, cudaGraphNodeType type, Make make) {
  return enter([&] {
    GraphNode& node = node_of_type(handle, type);
    node.does = in_place_of(node.does, make());
    return cudaSuccess;
  });
}

cudaError_t get_event(cudaGraphNode_t handle, cudaGraphNodeType type, cudaEvent_t* event) {
  return enter([&] {
    require(event != nullptr, cudaErrorInvalidValue);
    *event = handle_of(*node_of_type(handle, type).does.event);
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphNodeSetParams, (cudaGraphNode_t node, cudaGraphNodeParams* params), (node, params)) {
  return enter([&] {
    require(params != nullptr, cudaErrorInvalidValue);
    GraphNode& changed = node_of_type(node, params->type);
    require(can_be_set(params->type), cudaErrorNotSupported);
    changed.does = in_place_of(changed.does, work_of(*params));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphKernelNodeGetParams, (cudaGraphNode_t node, cudaKernelNodeParams* params),
            (node, params)) {
  return get(node, cudaGraphNodeTypeKernel, params, [](const cudaGraphNodeParams& p) {
    return cudaKernelNodeParams{p.kernel.func,           p.kernel.gridDim,      p.kernel.blockDim,
                                p.kernel.sharedMemBytes, p.kernel.kernelParams, p.kernel.extra};
  });
}

RUNTIME_API(cudaGraphKernelNodeSetParams, (cudaGraphNode_t node, const cudaKernelNodeParams* params),
            (node, params)) {
  return set(node, cudaGraphNodeTypeKernel, [&] { return kernel_work(params); });
}

RUNTIME_API(cudaGraphMemcpyNodeGetParams, (cudaGraphNode_t node, cudaMemcpy3DParms* params), (node, params)) {
  return get(node, cudaGraphNodeTypeMemcpy, params,
             [](const cudaGraphNodeParams& p) { return p.memcpy.copyParams; });
}

RUNTIME_API(cudaGraphMemcpyNodeSetParams, (cudaGraphNode_t node, const cudaMemcpy3DParms* params),
            (node, params)) {
  return set(node, cudaGraphNodeTypeMemcpy, [&] { return copy_work(params); });
}

RUNTIME_API(cudaGraphMemcpyNodeSetParams1D,
            (cudaGraphNode_t node, void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
            (node, to, from, bytes, kind)) {
  return set(node, cudaGraphNodeTypeMemcpy, [&] { return flat_copy_work(to, from, bytes, kind); });
}

RUNTIME_API(cudaGraphMemcpyNodeSetParamsToSymbol,
            (cudaGraphNode_t node, const void* symbol, const void* from, size_t bytes, size_t offset,
             cudaMemcpyKind kind),
            (node, symbol, from, bytes, offset, kind)) {
  return set(node, cudaGraphNodeTypeMemcpy,
             [&] { return flat_copy_work(inside_variable(symbol, offset, bytes), from, bytes, kind); });
}

RUNTIME_API(cudaGraphMemcpyNodeSetParamsFromSymbol,
            (cudaGraphNode_t node, void* to, const void* symbol, size_t bytes, size_t offset,
             cudaMemcpyKind kind),
            (node, to, symbol, bytes, offset, kind)) {
  return set(node, cudaGraphNodeTypeMemcpy,
             [&] { return flat_copy_work(to, inside_variable(symbol, offset, bytes), bytes, kind); });
}

RUNTIME_API(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, cudaMemsetParams* params), (node, params)) {
  return get(node, cudaGraphNodeTypeMemset, params, [](const cudaGraphNodeParams& p) {
    return cudaMemsetParams{p.memset.dst,         p.memset.pitch, p.memset.value,
                            p.memset.elementSize, p.memset.width, p.memset.height};
  });
}

RUNTIME_API(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const cudaMemsetParams* params),
            (node, params)) {
  return set(node, cudaGraphNodeTypeMemset, [&] { return fill_work(params); });
}

RUNTIME_API(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, cudaHostNodeParams* params), (node, params)) {
  return get(node, cudaGraphNodeTypeHost, params, [](const cudaGraphNodeParams& p) {
    return cudaHostNodeParams{.fn = p.host.fn, .userData = p.host.userData};
  });
}

RUNTIME_API(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const cudaHostNodeParams* params),
            (node, params)) {
  return set(node, cudaGraphNodeTypeHost, [&] { return host_work(params); });
}

RUNTIME_API(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* graph), (node, graph)) {
  return enter([&] {
    require(graph != nullptr, cudaErrorInvalidValue);
    *graph = handle_of(*node_of_type(node, cudaGraphNodeTypeGraph).does.child);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event), (node, event)) {
  return get_event(node, cudaGraphNodeTypeEventRecord, event);
}

RUNTIME_API(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event), (node, event)) {
  return set(node, cudaGraphNodeTypeEventRecord,
             [&] { return event_work(cudaGraphNodeTypeEventRecord, event); });
}

RUNTIME_API(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event), (node, event)) {
  return get_event(node, cudaGraphNodeTypeWaitEvent, event);
}

RUNTIME_API(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event), (node, event)) {
  return set(node, cudaGraphNodeTypeWaitEvent, [&] { return event_work(cudaGraphNodeTypeWaitEvent, event); });
}

RUNTIME_API(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, cudaMemAllocNodeParams* params),
            (node, params)) {
  return get(node, cudaGraphNodeTypeMemAlloc, params, [](const cudaGraphNodeParams& p) {
    return cudaMemAllocNodeParams{p.alloc.poolProps, p.alloc.accessDescs, p.alloc.accessDescCount,
                                  p.alloc.bytesize, p.alloc.dptr};
  });
}

RUNTIME_API(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void* pointer), (node, pointer)) {
  return get(node, cudaGraphNodeTypeMemFree, static_cast<void**>(pointer),
             [](const cudaGraphNodeParams& p) { return p.free.dptr; });
}

}  // extern "C"
