// Futexes by number: std::latch, std::future and others of libstdc++ wait and wake through syscall().
#pragma once
#include <linux/futex.h>

#include "injector/threads/hand_over.h"

namespace ddpscope::injector {

inline bool waits_for_futex(long operation) {
  long command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

// `second` gets the waiters that are not woken.
inline void note_futex_wake(long operation, const void* futex, const void* second) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
      signal_waiters(second, HandOverKind::kFutex);
      [[fallthrough]];
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      signal_waiters(futex, HandOverKind::kFutex);
  }
}

// real_call() is the system call as libc makes it.
template <class RealCall>
inline long recorded_futex(long operation, const void* futex, const void* second, std::uintptr_t site,
                           RealCall real_call) {
  if (python::is_interpreter(site)) return real_call();
  if (!waits_for_futex(operation)) {
    note_futex_wake(operation, futex, second);
    return real_call();
  }
  Waiting waiting = begin_waiting(futex);
  long result = real_call();
  if (result == 0) woken(waiting, {Call::futex_wait, HandOverKind::kFutex, futex, site});
  return result;
}

}  // namespace ddpscope::injector
