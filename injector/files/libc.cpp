// Finds libc's functions when this library starts: a signal handler, the child of a fork, or an allocator
// that holds its lock while another thread has the loader's must not get into the dynamic linker. Calls from
// before find each its own (core/real.cpp).
#include <errno.h>

#include "injector/core/real.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint16_t kFirst = 400, kLast = 999;  // rows of libc in the table of calls

// For what this libc is too old to have: programs that ask for it at run time find us and must learn the
// truth.
long absent() {
  errno = ENOSYS;
  return -1;
}

__attribute__((constructor(101))) void find_libc() {
  for (const trace::CallInfo& info : trace::kCalls) {
    auto number = static_cast<std::uint16_t>(info.call);
    if (number < kFirst || number > kLast) continue;
    void* found = find_next(info.symbol);
    real_functions[number] = found ? found : reinterpret_cast<void*>(&absent);
  }
}

}  // namespace
}  // namespace ddpscope::injector
