// vfork and fork, seen without getting into their way.
#include "injector/processes/generation.h"

#include <pthread.h>

#include "injector/core/hook.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

std::uint32_t generation;
int process_id;  // of the process that the memory belongs to

void note_fork() {
  ++generation;
  process_id = static_cast<int>(trace::raw_syscall(SYS_getpid));
}

__attribute__((constructor(101))) void load() {
  process_id = static_cast<int>(trace::raw_syscall(SYS_getpid));
  pthread_atfork(nullptr, nullptr, note_fork);
}

}  // namespace

std::uint32_t fork_generation() { return generation; }

// Set by vfork() before parent and child return from it with the same thread-local storage.
extern "C" {
__attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread int ddpscope_vforked;
__attribute__((visibility("hidden"))) void* ddpscope_real_vfork;
}

bool in_vfork_child() {
  if (__builtin_expect(!ddpscope_vforked, 1)) return false;
  if (trace::raw_syscall(SYS_getpid) != process_id) return true;
  ddpscope_vforked = 0;
  return false;
}

}  // namespace ddpscope::injector
