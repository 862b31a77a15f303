// Semaphores that several processes share: each has its own address, but one file and offset.
#pragma once
#include <semaphore.h>

#include "trace/payloads.h"

namespace ddpscope::injector {

// Whether it was made to be shared (sem_open, or sem_init with pshared). false where this libc's semaphores
// are laid out in a way not known here.
bool is_shared(const sem_t* semaphore);

// Device, inode and offset of its mapping, looked up once; device and inode 0: nothing is mapped there. No
// lock, no allocation.
trace::payload::SharedSemaphore identify(const sem_t* semaphore);

// Another semaphore may come to lie there.
void forget_identity(const sem_t* semaphore);

}  // namespace ddpscope::injector
