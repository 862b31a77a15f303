// Entry points that change and disable nodes of an executable graph. A node's handle is that of the node in
// the original graph, which does not change.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph_exec.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/node_work.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

std::shared_ptr<GraphExec> exec_of(cudaGraphExec_t handle) {
  require(handle != nullptr, cudaErrorInvalidValue);
  return find_exec(handle);
}

/// `make()` returns the node's work from the next launch on.
template <class Make>
cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, Make make) {
  return enter([&] {
    exec_of(exec)->change(find_node(node), make());
    return cudaSuccess;
  });
}

const GraphNode& switchable(const GraphExec& exec, cudaGraphNode_t handle) {
  const GraphNode& node = exec.node_of(find_node(handle));
  const cudaGraphNodeType type = node.does.type;
  require(
      type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset,
      cudaErrorInvalidValue);
  return node;
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphExecNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* params), (exec, node, params)) {
  return enter([&] {
    require(params != nullptr, cudaErrorInvalidValue);
    const auto changed = exec_of(exec);
    const GraphNode& original = find_node(node);
    require(changed->node_of(original).does.type == params->type, cudaErrorInvalidValue);
    require(can_be_set(params->type), cudaErrorNotSupported);
    if (params->type == cudaGraphNodeTypeGraph) {
      changed->change_child(original, *find_graph(params->graph.graph));
    } else {
      changed->change(original, work_of(*params));
    }
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphExecKernelNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams* params),
            (exec, node, params)) {
  return set(exec, node, [&] { return kernel_work(params); });
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* params),
            (exec, node, params)) {
  return set(exec, node, [&] { return copy_work(params); });
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParams1D,
            (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
             cudaMemcpyKind kind),
            (exec, node, to, from, bytes, kind)) {
  return set(exec, node, [&] { return flat_copy_work(to, from, bytes, kind); });
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParamsToSymbol,
            (cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from, size_t bytes,
             size_t offset, cudaMemcpyKind kind),
            (exec, node, symbol, from, bytes, offset, kind)) {
  return set(exec, node,
             [&] { return flat_copy_work(inside_variable(symbol, offset, bytes), from, bytes, kind); });
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParamsFromSymbol,
            (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
             size_t offset, cudaMemcpyKind kind),
            (exec, node, to, symbol, bytes, offset, kind)) {
  return set(exec, node,
             [&] { return flat_copy_work(to, inside_variable(symbol, offset, bytes), bytes, kind); });
}

RUNTIME_API(cudaGraphExecMemsetNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams* params),
            (exec, node, params)) {
  return set(exec, node, [&] { return fill_work(params); });
}

RUNTIME_API(cudaGraphExecHostNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams* params),
            (exec, node, params)) {
  return set(exec, node, [&] { return host_work(params); });
}

RUNTIME_API(cudaGraphExecChildGraphNodeSetParams,
            (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child), (exec, node, child)) {
  return enter([&] {
    exec_of(exec)->change_child(find_node(node), *find_graph(child));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphExecEventRecordNodeSetEvent,
            (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event), (exec, node, event)) {
  return set(exec, node, [&] { return event_work(cudaGraphNodeTypeEventRecord, event); });
}

RUNTIME_API(cudaGraphExecEventWaitNodeSetEvent,
            (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event), (exec, node, event)) {
  return set(exec, node, [&] { return event_work(cudaGraphNodeTypeWaitEvent, event); });
}

RUNTIME_API(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled),
            (exec, node, enabled)) {
  return enter([&] {
    const auto changed = exec_of(exec);
    switchable(*changed, node);
    changed->enable(find_node(node), enabled != 0);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int* enabled),
            (exec, node, enabled)) {
  return enter([&] {
    require(enabled != nullptr, cudaErrorInvalidValue);
    *enabled = switchable(*exec_of(exec), node).enabled;
    return cudaSuccess;
  });
}

}  // extern "C"
