// Which process the memory belongs to: forks are counted, and the child of vfork, which borrows it, is told
// apart.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// Forks between the program's start and this process.
std::uint32_t fork_generation();
void note_fork();  // in the child

// How often this process may have given open descriptors to another: children made, descriptors sent. Goes on
// before they are given.
std::uint32_t descriptors_given();
void note_descriptors_given();

// Set in parent and child when this thread calls vfork().
extern "C" __attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread int ddpscope_vforked;
bool runs_as_vfork_child();

// True in the child of vfork() until it runs another program or ends: the memory is its parent's, the
// descriptors are its own. A system call, but only after a vfork() of this thread.
inline bool in_vfork_child() { return __builtin_expect(ddpscope_vforked, 0) && runs_as_vfork_child(); }

}  // namespace ddpscope::injector
