// The kernel that a plan would be on a GPU: what a profiler of the stand-in CUDA runtime sees of it.
#pragma once

#include <cuda_runtime_api.h>

namespace ddpscope::standin::nccl {

struct Plan;

/// Has `function(plan)` run in stream order, or each time the graph runs that the stream captures into. With
/// a profiler looking on, and in a graph, it is a kernel of NCCL's name for the plan.
cudaError_t launch_plan(cudaStream_t stream, cudaHostFn_t function, Plan* plan, bool captured);

/// In that function: the plan's turn has come, and the kernel starts now.
void plan_starts();

/// The calling thread aborts plans; and in the function of one that was aborted: its stream may go on after
/// this (standin/cuda/given_up.h).
void abort_begins();
void aborted_plan_ended();

}  // namespace ddpscope::standin::nccl
