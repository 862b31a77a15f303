// The CUDA device that is current in this thread, as its cudaSetDevice calls say (0 before the first).
#pragma once
#include "injector/core/thread_state.h"

namespace ddpscope::injector {

inline int current_device() { return this_thread.device; }

}  // namespace ddpscope::injector
