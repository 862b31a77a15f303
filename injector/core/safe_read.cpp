// Lets the kernel look: it answers EFAULT where we would crash.
#include "injector/core/safe_read.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

// The kernel reads the signal set before it refuses the operation.
bool is_readable(std::uintptr_t address) {
  constexpr long kNoSuchOperation = ~0;
  constexpr long kSetBytes = 8;
  auto word = static_cast<long>(address & ~std::uintptr_t{7});
  return trace::raw_syscall(SYS_rt_sigprocmask, kNoSuchOperation, word, 0, kSetBytes) == -EINVAL;
}

}  // namespace

bool read_safely(std::uintptr_t address, void* out, std::size_t bytes) {
  iovec here{out, bytes};
  iovec there{reinterpret_cast<void*>(address), bytes};
  long pid = trace::raw_syscall(SYS_getpid);
  long read = trace::raw_syscall(SYS_process_vm_readv, pid, trace::as_argument(&here), 1,
                                 trace::as_argument(&there), 1);
  if (read != -EPERM && read != -ENOSYS) return read == static_cast<long>(bytes);
  // Containers may forbid it. Nothing spans more than two pages: the first and the last word tell.
  if (!is_readable(address) || !is_readable(address + bytes - 1)) return false;
  memcpy(out, reinterpret_cast<const void*>(address), bytes);
  return true;
}

}  // namespace ddpscope::injector
