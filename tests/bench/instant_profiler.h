// What NCCL tells a profiler plugin of one collective, without NCCL's work.
#pragma once
#include <nccl.h>

namespace ddpscope::bench {

// Where NCCL_PROFILER_PLUGIN is STATIC_PLUGIN: the plugin's, of which communicator `rank` is told from now
// on.
void begin_profiling(int rank);

// What NCCL 2.28 tells of an all-reduce outside of a group, to the plugin or, for what that costs by itself,
// to one that does nothing. Nothing is told where there is no plugin.
void tell_plugin(std::size_t count, cudaStream_t stream);
void tell_nobody(std::size_t count, cudaStream_t stream);

}  // namespace ddpscope::bench
