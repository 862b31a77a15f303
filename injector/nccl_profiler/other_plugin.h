// The profiler plugin that NCCL would have without us: what it is told goes on to it.
#pragma once
#include "injector/nccl_profiler/interface.h"

namespace ddpscope::injector::profiler {

struct OtherPlugin {
  int version = 0;  // of its table; 0: there is none
  const void* table = nullptr;
};

// Its newest table of these that NCCL knows. Loaded at the first call, and kept:
// DDPSCOPE_NCCL_PROFILER_PLUGIN names it as NCCL_PROFILER_PLUGIN would; unset, it is the program's own, or
// what is preloaded behind us.
OtherPlugin other_plugin(int newest);

// Whether a plugin with this mask is told of events of this type: it is for the sake of those below them,
// too.
bool wants(std::uint32_t mask, std::uint32_t type);

ncclResult_t init_other(const OtherPlugin& plugin, void** context, int* mask,
                        const Introduction& introduction);
// The event is of this version, which is the plugin's or a newer one; its parents are the plugin's handles.
template <int version>
ncclResult_t start_other(const OtherPlugin& plugin, void* context, void** handle,
                         typename EventOf<version>::Type* event);
ncclResult_t stop_other(const OtherPlugin& plugin, void* handle);
ncclResult_t record_other(const OtherPlugin& plugin, void* handle, int state, StateArguments* arguments);
ncclResult_t finalize_other(const OtherPlugin& plugin, void* context);

}  // namespace ddpscope::injector::profiler
