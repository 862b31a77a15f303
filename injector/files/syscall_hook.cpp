// syscall(): calls on files, processes and futexes that are made by number go the same way as those made by
// name. All others are handed to libc with a jump, because some of them (vfork, clone) return twice on one
// stack.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injector/files/newer_calls.h"
#include "injector/files/open_call.h"
#include "injector/files/told_names.h"
#include "injector/processes/process_call.h"
#include "injector/threads/futex_call.h"

namespace {

using namespace ddpscope::injector;

template <class T>
T* at(long argument) {
  return reinterpret_cast<T*>(argument);
}

int number(long argument) { return static_cast<int>(argument); }

unsigned bits(long argument) { return static_cast<unsigned>(argument); }

std::size_t size(long argument) { return static_cast<std::size_t>(argument); }

}  // namespace

extern "C" {

using Syscall = long(long, long, long, long, long, long, long);

__attribute__((visibility("hidden"))) unsigned char ddpscope_by_number[512];
__attribute__((visibility("hidden"))) Syscall* ddpscope_real_syscall;

__attribute__((visibility("hidden"))) void ddpscope_find_syscall() {
  ddpscope_real_syscall = reinterpret_cast<Syscall*>(dlsym(RTLD_NEXT, "syscall"));
  for (int taken : {SYS_read,
                    SYS_write,
                    SYS_open,
                    SYS_close,
                    SYS_pread64,
                    SYS_pwrite64,
                    SYS_readv,
                    SYS_writev,
                    SYS_dup,
                    SYS_dup2,
                    SYS_dup3,
                    SYS_sendfile,
                    SYS_fork,
                    SYS_execve,
                    SYS_exit_group,
                    SYS_fsync,
                    SYS_fdatasync,
                    SYS_ftruncate,
                    SYS_rename,
                    SYS_mkdir,
                    SYS_rmdir,
                    SYS_unlink,
                    SYS_openat,
                    SYS_openat2,
                    SYS_mkdirat,
                    SYS_unlinkat,
                    SYS_renameat,
                    SYS_renameat2,
                    SYS_splice,
                    SYS_statx,
                    SYS_copy_file_range,
                    SYS_close_range,
                    SYS_getdents,
                    SYS_getdents64,
                    SYS_futex})
    ddpscope_by_number[taken] = 1;
}

__attribute__((visibility("hidden"))) long ddpscope_syscall(long call, long a, long b, long c, long d, long e,
                                                            long f) {
  switch (call) {
    case SYS_read:
      return read(number(a), at<void>(b), size(c));
    case SYS_write:
      return write(number(a), at<void>(b), size(c));
    case SYS_pread64:
      return pread64(number(a), at<void>(b), size(c), d);
    case SYS_pwrite64:
      return pwrite64(number(a), at<void>(b), size(c), d);
    case SYS_readv:
      return readv(number(a), at<iovec>(b), number(c));
    case SYS_writev:
      return writev(number(a), at<iovec>(b), number(c));
    case SYS_sendfile:
      return sendfile(number(a), number(b), at<off_t>(c), size(d));
    case SYS_splice:
      return splice(number(a), at<off64_t>(b), number(c), at<off64_t>(d), size(e), bits(f));
    case SYS_copy_file_range:
      return copy_file_range(number(a), at<off64_t>(b), number(c), at<off64_t>(d), size(e), bits(f));
    case SYS_open:
      return open(at<char>(a), number(b), bits(c));
    case SYS_openat:
      return openat(number(a), at<char>(b), number(c), bits(d));
    case SYS_close:
      return close(number(a));
    case SYS_close_range:
      return close_range(bits(a), bits(b), number(c));
    case SYS_dup:
      return dup(number(a));
    case SYS_dup2:
      return dup2(number(a), number(b));
    case SYS_dup3:
      return dup3(number(a), number(b), number(c));
    case SYS_fsync:
      return fsync(number(a));
    case SYS_fdatasync:
      return fdatasync(number(a));
    case SYS_ftruncate:
      return ftruncate(number(a), b);
    case SYS_rename:
      return rename(at<char>(a), at<char>(b));
    case SYS_renameat:
      return renameat(number(a), at<char>(b), number(c), at<char>(d));
    case SYS_renameat2:
      return renameat2(number(a), at<char>(b), number(c), at<char>(d), bits(e));
    case SYS_mkdir:
      return mkdir(at<char>(a), bits(b));
    case SYS_mkdirat:
      return mkdirat(number(a), at<char>(b), bits(c));
    case SYS_rmdir:
      return rmdir(at<char>(a));
    case SYS_unlink:
      return unlink(at<char>(a));
    case SYS_unlinkat:
      return unlinkat(number(a), at<char>(b), number(c));
    case SYS_statx:
      return statx(number(a), at<char>(b), number(c), bits(d), at<struct statx>(e));
    case SYS_execve:
      return execve(at<char>(a), at<char*>(b), at<char*>(c));
    case SYS_fork:
      return recorded_fork<Call::fork>(
          [&] { return after_fork(number(ddpscope_real_syscall(call, a, b, c, d, e, f))); });
    case SYS_futex:
      return recorded_futex(b, at<void>(a), at<void>(e), DDPSCOPE_CALL_SITE,
                            [&] { return ddpscope_real_syscall(call, a, b, c, d, e, f); });
    case SYS_getdents:
    case SYS_getdents64:
      forget_listing(number(a));
      break;
    case SYS_exit_group:
      note_end(Call::_exit, number(a));
      break;
    case SYS_openat2: {
      const open_how* how = at<open_how>(c);
      return recorded_open<Call::openat>(
          number(a), at<char>(b), how ? number(static_cast<long>(how->flags)) : 0,
          how ? bits(static_cast<long>(how->mode)) : 0,
          [&] { return number(ddpscope_real_syscall(call, a, b, c, d, e, f)); });
    }
  }
  return ddpscope_real_syscall(call, a, b, c, d, e, f);
}
}

namespace {
__attribute__((constructor(101))) void load() { ddpscope_find_syscall(); }
}  // namespace

// The registers and the one argument on the stack are as the variadic caller left them: the same as for a
// function of seven longs.
asm(R"(
  .pushsection .text
  .globl syscall
  .type syscall, @function
syscall:
  endbr64
  cmpq $0, ddpscope_real_syscall(%rip)
  jne 1f
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  call ddpscope_find_syscall
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
1:
  cmpq $511, %rdi
  ja 2f
  leaq ddpscope_by_number(%rip), %rax
  cmpb $0, (%rax,%rdi)
  je 2f
  jmp ddpscope_syscall
2:
  jmp *ddpscope_real_syscall(%rip)
  .size syscall, . - syscall
  .popsection
)");
