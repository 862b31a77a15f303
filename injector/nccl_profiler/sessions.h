// Communicators that NCCL has introduced to its profiler plugin, us.
#pragma once
#include "injector/nccl_profiler/other_plugin.h"
#include "trace/write/file_writer.h"

namespace ddpscope::injector::profiler {

constexpr std::uint32_t kChoices = 32;

struct Session {
  bool taken;   // __atomic
  bool tells;   // what NCCL tells of it is recorded
  bool hooked;  // it was made in a call that our hooks saw
  int version;
  std::uint64_t communicator;  // NCCL's id; 0: not told before the first operation
  std::int32_t rank, size;
  char name[64];
  OtherPlugin other;
  void* other_context;
  int* mask;                        // NCCL's
  std::uint64_t choices[kChoices];  // recorded so far, see recorded.cpp
};

// Never anything but success: a plugin that fails would be a message on the program's terminal. `caller`: in
// NCCL.
ncclResult_t begin_session(int version, void** context, int* mask, const Introduction& introduction,
                           const void* caller);
ncclResult_t end_session(void* context);
Session* session_of(void* context);  // nullptr: none of ours

// The events that the other plugin wants of it now; it may change its mind at any time.
std::uint32_t other_mask_of(const Session& session);

// Whether NCCL has ever introduced a communicator: operations are worth remembering.
extern bool any_session;  // __atomic

void forget_sessions();  // after fork: what belongs to the parent's communicators is not recorded

}  // namespace ddpscope::injector::profiler
