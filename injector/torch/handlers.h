// What is done at the begin and the end of each of PyTorch's functions (functions.def).
#pragma once
#include "injector/torch/hooked_call.h"

namespace ddpscope::injector::torch::handlers {

extern const Handler make_group, make_nccl_group, end_group;           // group_calls.cpp
extern const Handler make_prefix, make_old_prefix;                     // group_names.cpp
extern const Handler collective, receive_from_any, monitored_barrier;  // collectives.cpp
extern const Handler enqueue, execute, run, wait;                      // works_calls.cpp
extern const Handler backward, reducer_forward, reducer_backward, reducer_gradient, reducer_bucket,
    reducer_finish, reducer_rebuild, reducer_end;  // training.cpp
extern const Handler parameter_gradient;           // parameters.cpp

}  // namespace ddpscope::injector::torch::handlers
