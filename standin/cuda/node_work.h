// What nodes do, out of the parameters that the API gives them. All fail as the calls outside of graphs do.
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include "standin/cuda/graph.h"

namespace ddpscope::standin {

/// Copies the arguments.
NodeWork kernel_work(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared_bytes);
NodeWork copy_work(const cudaMemcpy3DParms& parameters);
NodeWork fill_work(const cudaMemsetParams& parameters);

/// The memory is there at once, at `*pointer`, and goes with the last graph that has the node: what frees it
/// in the graph only ends its use.
NodeWork allocation_work(std::size_t bytes, Device& device, void** pointer);

}  // namespace ddpscope::standin
