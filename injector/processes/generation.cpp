// Counts forks; vfork, seen without getting in its way.
#include "injector/processes/generation.h"

#include <dlfcn.h>
#include <pthread.h>

#include "injector/core/hook.h"
#include "trace/write/raw_syscall.h"

extern "C" {
// For the jump below, before parent and child return with the same thread-local storage.
__thread int ddpscope_vforked;
__attribute__((visibility("hidden"))) void* ddpscope_real_vfork;
__attribute__((visibility("hidden"))) std::uint32_t ddpscope_given;
__attribute__((visibility("hidden"))) void ddpscope_find_vfork() {
  ddpscope_real_vfork = dlsym(RTLD_NEXT, "vfork");
}
}

// A jump, not a call: parent and child return from vfork on one stack, so the frame of a function around it
// would be overwritten by the child before the parent gets back to it.
asm(R"(
  .pushsection .text
  .globl vfork
  .type vfork, @function
vfork:
  endbr64
  cmpq $0, ddpscope_real_vfork(%rip)
  jne 1f
  subq $8, %rsp
  call ddpscope_find_vfork
  addq $8, %rsp
1:
  lock addl $1, ddpscope_given(%rip)
  movq ddpscope_vforked@gottpoff(%rip), %rax
  movl $1, %fs:(%rax)
  jmp *ddpscope_real_vfork(%rip)
  .size vfork, . - vfork
  .popsection
)");

namespace ddpscope::injector {
namespace {

std::uint32_t generation;
int process_id;  // of the process that the memory belongs to

__attribute__((constructor(101))) void load() {
  process_id = static_cast<int>(trace::raw_syscall(SYS_getpid));
  ddpscope_find_vfork();
  pthread_atfork(note_descriptors_given, nullptr, note_fork);
}

}  // namespace

std::uint32_t fork_generation() { return generation; }

void note_fork() {
  ++generation;
  process_id = static_cast<int>(trace::raw_syscall(SYS_getpid));
}

std::uint32_t descriptors_given() { return __atomic_load_n(&ddpscope_given, __ATOMIC_ACQUIRE); }

void note_descriptors_given() { __atomic_fetch_add(&ddpscope_given, 1, __ATOMIC_ACQ_REL); }

bool runs_as_vfork_child() {
  if (trace::raw_syscall(SYS_getpid) != process_id) return true;
  ddpscope_vforked = 0;
  return false;
}

}  // namespace ddpscope::injector
