// Work of host, event, child graph and conditional nodes, and of nodes of any type from their parameters.
#include "standin/cuda/node_work.h"

#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"

namespace ddpscope::standin {
namespace {

NodeWork conditional_work(cudaConditionalNodeParams& p) {
  const bool sized = p.type == cudaGraphCondTypeSwitch ? p.size >= 1
                     : p.type == cudaGraphCondTypeIf   ? p.size == 1 || p.size == 2
                                                       : p.size == 1;
  require(sized, cudaErrorInvalidValue);
  auto node = std::make_shared<Conditional>(p.type, find_condition(p.handle));
  for (unsigned i = 0; i < p.size; ++i) {
    node->bodies.push_back(embed(std::make_shared<Graph>()));
    node->handles.push_back(handle_of(*node->bodies.back()));
  }
  p.phGraph_out = node->handles.data();
  return {.type = cudaGraphNodeTypeConditional, .conditional = node};
}

NodeWork allocation_of(cudaMemAllocNodeParamsV2& p) {
  cudaMemAllocNodeParams parameters{p.poolProps, p.accessDescs, p.accessDescCount, p.bytesize, nullptr};
  NodeWork does = allocation_work(parameters);
  p.dptr = parameters.dptr;
  return does;
}

}  // namespace

NodeWork host_work(cudaHostFn_t function, void* data) {
  require(function != nullptr, cudaErrorInvalidValue);
  const auto parameters = parameters_of_type(cudaGraphNodeTypeHost);
  parameters->host.fn = function;
  parameters->host.userData = data;
  return {.type = cudaGraphNodeTypeHost,
          .work =
              [function, data] {
                HostFunctionScope scope;
                function(data);
              },
          .parameters = parameters};
}

NodeWork event_work(cudaGraphNodeType type, cudaEvent_t event) {
  require(event != nullptr, cudaErrorInvalidValue);
  return {.type = type, .event = find_event(event)};
}

NodeWork child_work(cudaGraph_t graph) {
  return {.type = cudaGraphNodeTypeGraph, .child = embed(find_graph(graph)->copy())};
}

NodeWork kernel_work(const cudaKernelNodeParams* p) {
  require(p != nullptr && p->extra == nullptr, cudaErrorInvalidValue);
  return kernel_work(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes);
}

NodeWork copy_work(const cudaMemcpy3DParms* parameters) {
  require(parameters != nullptr, cudaErrorInvalidValue);
  return copy_work(*parameters);
}

NodeWork fill_work(const cudaMemsetParams* parameters) {
  require(parameters != nullptr, cudaErrorInvalidValue);
  return fill_work(*parameters);
}

NodeWork host_work(const cudaHostNodeParams* parameters) {
  require(parameters != nullptr, cudaErrorInvalidValue);
  return host_work(parameters->fn, parameters->userData);
}

bool can_be_set(cudaGraphNodeType type) {
  return type != cudaGraphNodeTypeMemAlloc && type != cudaGraphNodeTypeMemFree &&
         type != cudaGraphNodeTypeConditional;
}

NodeWork work_of(cudaGraphNodeParams& p) {
  switch (p.type) {
    case cudaGraphNodeTypeKernel:
      require(p.kernel.extra == nullptr, cudaErrorInvalidValue);
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
      return allocation_of(p.alloc);
    case cudaGraphNodeTypeMemFree:
      return free_work(p.free.dptr);
    case cudaGraphNodeTypeConditional:
      return conditional_work(p.conditional);
    default:
      throw Failure{cudaErrorNotSupported};
  }
}

}  // namespace ddpscope::standin
