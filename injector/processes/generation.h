// Which process the memory belongs to: forks are counted, and the child of vfork, which borrows it, is told
// apart.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// Forks between the program's start and this process.
std::uint32_t fork_generation();
void note_fork();  // in the child

// True in the child of vfork() until it runs another program or ends: the memory is its parent's, the
// descriptors are its own. A system call, but only after a vfork() of this thread.
bool in_vfork_child();

}  // namespace ddpscope::injector
