// What nodes do, out of the parameters that the API gives them. All fail as the calls outside of graphs do.
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include "standin/cuda/graph.h"

namespace ddpscope::standin {

/// Parameters of a node, to be filled in.
inline std::shared_ptr<cudaGraphNodeParams> parameters_of_type(cudaGraphNodeType type) {
  cudaGraphNodeParams empty{};
  empty.type = type;
  return std::make_shared<cudaGraphNodeParams>(empty);
}

/// Copies the arguments.
NodeWork kernel_work(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared_bytes);
NodeWork copy_work(const cudaMemcpy3DParms& parameters);
NodeWork flat_copy_work(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
NodeWork fill_work(const cudaMemsetParams& parameters);
NodeWork host_work(cudaHostFn_t function, void* data);

// As entry points are given them. Null fails with cudaErrorInvalidValue.
NodeWork kernel_work(const cudaKernelNodeParams* parameters);
NodeWork copy_work(const cudaMemcpy3DParms* parameters);
NodeWork fill_work(const cudaMemsetParams* parameters);
NodeWork host_work(const cudaHostNodeParams* parameters);

NodeWork event_work(cudaGraphNodeType type, cudaEvent_t event);
NodeWork child_work(cudaGraph_t graph);

/// The memory is there at once, at `parameters.dptr`, and goes with the last graph that has the node: what
/// frees it in the graph only ends its use.
NodeWork allocation_work(cudaMemAllocNodeParams& parameters);
/// Of `bytes`, with access for that device only.
cudaMemAllocNodeParams allocation_parameters(std::size_t bytes, const Device& device);
NodeWork free_work(void* pointer);

/// Whether the parameters of a node of that type can change.
bool can_be_set(cudaGraphNodeType type);

/// Writes what the API returns there. Fails with cudaErrorNotSupported for nodes that are none of ours.
NodeWork work_of(cudaGraphNodeParams& parameters);

}  // namespace ddpscope::standin
