// What the injector keeps for each thread of the guest.
#pragma once
#include <cstdint>

#include "trace/write/thread_writer.h"

namespace ddpscope::injector {

struct ThreadState {
  trace::ThreadWriter writer;
  // Set while the injector itself is at work in this thread: a signal handler of the guest that interrupts it
  // and makes a hooked call must not record. It never spans guest code or a real call, so a longjmp cannot
  // leave it set.
  bool busy = false;
  bool vendor_thread = false;             // made inside an NCCL or CUDA call: its sockets are not the job's
  bool registered = false;                // its end will be seen
  std::uint32_t group_depth = 0;          // open ncclGroupStart
  const char* outermost_frame = nullptr;  // stack address of the NCCL or CUDA hook it is in, see below
  std::uintptr_t stack_low = 0;           // part of its stack that is known to be mapped, see stack.cpp
  std::uintptr_t stack_high = 0;
  int device = 0;  // current CUDA device as last set or asked, see cuda/
};

// initial-exec: no allocation at a thread's first access, one instruction afterwards.
extern constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

// True for calls that NCCL or CUDA make themselves: not the guest's own. The stack grows down, so a hook
// whose frame lies above the remembered one is not nested in it: that one was left by longjmp or
// cancellation.
inline bool inside_vendor_call() {
  return this_thread.vendor_thread ||
         (this_thread.outermost_frame &&
          static_cast<const char*>(__builtin_frame_address(0)) < this_thread.outermost_frame);
}

// Marks the time that the thread spends in the outermost NCCL or CUDA call.
class VendorCall {
 public:
  VendorCall() : before_(this_thread.outermost_frame) {
    this_thread.outermost_frame = static_cast<const char*>(__builtin_frame_address(0));
  }
  ~VendorCall() { this_thread.outermost_frame = before_; }
  VendorCall(const VendorCall&) = delete;
  VendorCall& operator=(const VendorCall&) = delete;

 private:
  const char* before_;
};

}  // namespace ddpscope::injector
