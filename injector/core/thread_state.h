// What the injector keeps for each thread of the guest. A process that loads us late has little room for
// that.
#pragma once
#include <cstdint>

#include "trace/write/thread_writer.h"

namespace ddpscope::injector {

class OwnWork;
class VendorCall;

constexpr int kUnknownDevice = -1;

// A mutex that the thread locked and where, one of several: another one may have taken its place.
struct HeldMutex {
  const void* mutex;
  std::uintptr_t site;
};
constexpr unsigned kHeldMutexBits = 4;

// The run of copies that was digested last.
struct DigestedCopy {
  trace::OpenRecord copy;
  trace::OpenRecord digest;
};

// A number that the thread copies to the host and has to wait for.
struct AwaitedValue {
  const void* destination;
  std::uint64_t source;
  std::uint64_t stream;
  std::uint64_t bytes;
  std::uint64_t vendor_call;  // number of the copy among the thread's
};

// The collectives of the open group, as far as they are timed (nccl/timed_calls.h).
struct GroupedCollectives;
struct OpenGroup {
  GroupedCollectives* timed;  // none so far: null
  std::uint32_t untimed;      // collectives for which there is no room
};

// What an NCCL that the hooks do not reach does in this thread, as it tells itself (nccl/unhooked.h).
struct UnhookedCalls {
  trace::OpenRecord open;     // of the operation that is being asked for
  std::uint32_t ranges;       // of NVTX that it is in
  std::uint32_t group_depth;  // open groups
};

namespace torch {
struct HookedCall;
}

struct ThreadState {
  trace::ThreadWriter writer;
  const OwnWork* own_work = nullptr;        // what the injector itself is at in this thread, see process.h
  bool vendor_thread = false;               // made inside an NCCL or CUDA call: its sockets are not the job's
  bool registered = false;                  // its end will be seen
  bool ended = false;                       // its end was seen: what still comes is not recorded
  std::uint32_t group_depth = 0;            // open ncclGroupStart
  const VendorCall* vendor_call = nullptr;  // the outermost NCCL or CUDA call it is in
  std::uint64_t vendor_calls = 0;           // made so far
  std::uintptr_t stack_low = 0;             // part of its stack that is known to be mapped, see stack.cpp
  std::uintptr_t stack_high = 0;
  std::uint64_t native_hash = 0;  // of the return addresses of its latest native stack, and that stack's id
  std::uint32_t native_stack = 0;
  std::int32_t tid = 0;              // the kernel's, once it was needed
  std::uintptr_t native_site = 0;    // if that stack has one frame only and always will: its return address
  std::uintptr_t awaited_frame = 0;  // where the main thread stood when its stack was taken for this
  std::uintptr_t awaited_instruction = 0;  // thread's, see python_stack.cpp
  std::uint32_t awaited_stack = 0;
  int device = kUnknownDevice;      // current CUDA device as last set or asked, see cuda/device.h
  std::uint64_t returned_to = 0;    // devices, a bit each: see device_times/device_scope.h
  std::uint64_t position = 0;       // ticks of the last begin or end of a record, see threads/hand_over.h
  std::uint64_t echo_key = 0;       // the object that it took last, if nothing was recorded since
  std::uint64_t echo_position = 0;  // its position then, and
  std::uint64_t before_echo = 0;    // before it took anything from that object
  std::uint32_t releases = 0;       // that other threads may have taken
  std::uint32_t scopes = 0;  // place + 1 of those that PyTorch has not ended, see torch/profiler_scopes.cpp
  trace::OpenRecord semaphores_awaited;  // by the latest call on semaphores of System V
  OpenGroup group = {};
  std::uint64_t asking = 0;  // the operation that the thread's call asks NCCL for, and that one and those
  std::uint64_t asked = 0;   // before it in the open group, see nccl_profiler/operations.h
  UnhookedCalls unhooked = {};
  DigestedCopy digested = {};
  AwaitedValue awaited_value = {};
  torch::HookedCall* hooked_call = nullptr;  // of PyTorch's, the innermost one
  std::uint64_t made_last = 0;  // operation of a process group, if the thread did nothing with PyTorch since
  HeldMutex held[1u << kHeldMutexBits] = {};
};

// initial-exec: no allocation at a thread's first access, one instruction afterwards.
extern constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

// Whether CUPTI is to tell which of our calls enqueued what a device does: the thread's latest record is told
// to it for as long as the real function runs. __atomic.
extern bool links_device_work;
void link_device_work();
void unlink_device_work();

// Lies in the frame of the outermost NCCL or CUDA hook while the real function runs.
//
// A longjmp out of the real function, or the end of the thread by cancellation, runs no destructor: the
// thread would count as being inside for ever. Two things tell a call that is still there from one that was
// left. The stack grows down: a hook whose frame lies above is not nested in it. And the frames that came to
// lie where it was have overwritten its number.
class VendorCall {
 public:
  VendorCall() : number_(++this_thread.vendor_calls), outer_(this_thread.vendor_call) {
    this_thread.vendor_call = this;
    linked_ = __atomic_load_n(&links_device_work, __ATOMIC_RELAXED);
    if (__builtin_expect(linked_, 0)) link_device_work();
  }
  // No more than it has put there itself is taken back, and nothing when CUPTI is the guest's.
  ~VendorCall() {
    if (__builtin_expect(linked_, 0) && __atomic_load_n(&links_device_work, __ATOMIC_RELAXED))
      unlink_device_work();
    number_ = 0;
    this_thread.vendor_call = outer_;
  }
  VendorCall(const VendorCall&) = delete;
  VendorCall& operator=(const VendorCall&) = delete;

  bool holds(const void* frame) const {
    return frame < static_cast<const void*>(this) && number_ == this_thread.vendor_calls;
  }

 private:
  volatile std::uint64_t number_;
  const VendorCall* outer_;
  bool linked_;
};

// True for calls that NCCL or CUDA make themselves: not the guest's own.
inline bool inside_vendor_call() {
  const ThreadState& thread = this_thread;
  return thread.vendor_thread ||
         (thread.vendor_call && thread.vendor_call->holds(__builtin_frame_address(0)));
}

}  // namespace ddpscope::injector
