// System calls that pass by libc: no hook of ours sees them, errno stays, no cancellation point.
#pragma once
#if !defined(__x86_64__)
#error "the injector is written for x86-64"
#endif
#include <sys/syscall.h>

namespace ddpscope::trace {

// Returns what the kernel returns: a value, or -errno.
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

template <class T>
long as_argument(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace ddpscope::trace
