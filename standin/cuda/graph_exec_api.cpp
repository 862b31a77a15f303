// Entry points that make graphs ready, launch them and update them.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph_exec.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

constexpr unsigned long long kKnownFlags = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                           cudaGraphInstantiateFlagUpload |
                                           cudaGraphInstantiateFlagUseNodePriority;

void instantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  require(exec != nullptr, cudaErrorInvalidValue);
  require((flags & ~kKnownFlags) == 0, cudaErrorNotSupported);  // a launch by the device
  *exec = add_exec(std::make_shared<GraphExec>(find_graph(graph)->copy(), flags));
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphInstantiateWithFlags,
            (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags), (exec, graph, flags)) {
  return enter([&] {
    instantiate(exec, graph, flags);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
            (exec, graph, flags)) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

RUNTIME_API(cudaGraphInstantiateWithParams,
            (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* params),
            (exec, graph, params)) {
  return enter([&] {
    require(params != nullptr, cudaErrorInvalidValue);
    params->errNode_out = nullptr;
    params->result_out = cudaGraphInstantiateError;
    instantiate(exec, graph, params->flags);
    params->result_out = cudaGraphInstantiateSuccess;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long* flags), (exec, flags)) {
  return enter([&] {
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = find_exec(exec)->flags();
    return cudaSuccess;
  });
}

// There is nowhere to upload to; it counts as work of the stream.
RUNTIME_API(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream)) {
  return enter([&] {
    find_exec(exec);
    submit(find_stream(stream), {});
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream)) {
  return enter([&] {
    find_exec(exec)->launch(find_stream(stream));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec)) {
  return enter([&] {
    take_exec(exec);  // a run that is on its way ends
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphExecUpdate,
            (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info),
            (exec, graph, info)) {
  return enter([&] {
    require(info != nullptr, cudaErrorInvalidValue);
    const GraphNode* differs = nullptr;
    *info = {cudaGraphExecUpdateError, nullptr, nullptr};
    info->result = find_exec(exec)->update(*find_graph(graph), differs);
    if (differs) info->errorNode = handle_of(*differs);
    return info->result == cudaGraphExecUpdateSuccess ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
  });
}

}  // extern "C"
