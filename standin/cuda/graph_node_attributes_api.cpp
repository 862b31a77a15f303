// Entry points for attributes of kernel nodes. They are stored and do not affect how a kernel runs; profilers
// see whether it is cooperative.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

GraphNode& kernel_node(cudaGraphNode_t handle) {
  GraphNode& node = find_node(handle);
  require(node.does.type == cudaGraphNodeTypeKernel, cudaErrorInvalidValue);
  return node;
}

void require_known(cudaLaunchAttributeID attribute) {
  switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
      return;
    case cudaLaunchAttributeSynchronizationPolicy:  // of streams only
      throw Failure{cudaErrorInvalidValue};
    default:
      throw Failure{cudaErrorNotSupported};
  }
}

cudaLaunchAttributeValue value_of(const NodeWork& does, cudaLaunchAttributeID attribute) {
  const auto found = does.attributes.find(attribute);
  if (found != does.attributes.end()) return found->second;
  cudaLaunchAttributeValue value{};
  if (attribute == cudaLaunchAttributeCooperative) value.cooperative = does.activity->cooperative;
  if (attribute == cudaLaunchAttributeMemSyncDomainMap) value.memSyncDomainMap.remote = 1;
  return value;
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphKernelNodeGetAttribute,
            (cudaGraphNode_t node, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue* value),
            (node, attribute, value)) {
  return enter([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    const GraphNode& asked = kernel_node(node);
    require_known(attribute);
    *value = value_of(asked.does, attribute);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphKernelNodeSetAttribute,
            (cudaGraphNode_t node, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue* value),
            (node, attribute, value)) {
  return enter([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    NodeWork& does = kernel_node(node).does;
    require_known(attribute);
    if (attribute == cudaLaunchAttributeCooperative) {
      does.activity->cooperative = value->cooperative != 0;
    } else {
      does.attributes[attribute] = *value;
    }
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from), (to, from)) {
  return enter([&] {
    NodeWork& target = kernel_node(to).does;
    const NodeWork& source = kernel_node(from).does;
    target.attributes = source.attributes;
    target.activity->cooperative = source.activity->cooperative;
    return cudaSuccess;
  });
}

}  // extern "C"
