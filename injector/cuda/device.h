// The CUDA device that is current in a thread.
#pragma once
#include "injector/core/thread_state.h"

namespace ddpscope::injector {

// 0xFF until it is known.
inline std::uint8_t current_device() { return static_cast<std::uint8_t>(this_thread.device); }

// After a successful call of the guest, inside VendorCall: asks CUDA if this thread's device is not known
// yet. Not before: in a process that cannot use CUDA (a forked child) our question would leave an error
// behind.
void ask_device();

// Of the CUDA runtime behind us: 13000 for 13.0. 0: not found.
int runtime_version();

// The thread's device is this one now; the first time in a trace, its UUID is recorded.
void set_device(int device);

}  // namespace ddpscope::injector
