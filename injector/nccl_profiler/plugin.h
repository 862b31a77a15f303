// What NCCL tells of a communicator: recorded, and handed on to the other plugin.
#pragma once
#include "injector/nccl_profiler/interface.h"

namespace ddpscope::injector::profiler {

template <int version>
ncclResult_t start_event(void* context, void** handle, typename EventOf<version>::Type* event);
ncclResult_t stop_event(void* handle);
ncclResult_t record_state(void* handle, int state, StateArguments* arguments);

}  // namespace ddpscope::injector::profiler
