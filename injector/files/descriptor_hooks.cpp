// Closing, duplicating and positioning descriptors.
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "injector/files/descriptor_call.h"
#include "injector/files/lock_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int close(int fd) {
  return recorded_close<Call::close>(fd, [&] { return real<Call::close>(&close)(fd); });
}

DDPSCOPE_EXPORT int close_range(unsigned first, unsigned last, int flags) {
  return recorded_close_range<Call::close_range>(
      first, last, flags, [&] { return real<Call::close_range>(&close_range)(first, last, flags); });
}

DDPSCOPE_EXPORT void closefrom(int first) {
  recorded_close_range<Call::closefrom>(static_cast<unsigned>(first), ~0u, 0, [&] {
    real<Call::closefrom> (&closefrom)(first);
    return 0;
  });
}

DDPSCOPE_EXPORT int dup(int fd) {
  return recorded_duplicate<Call::dup>(fd, [&] { return real<Call::dup>(&dup)(fd); });
}

DDPSCOPE_EXPORT int dup2(int fd, int wanted) {
  return recorded_duplicate<Call::dup2>(fd, [&] { return real<Call::dup2>(&dup2)(fd, wanted); });
}

DDPSCOPE_EXPORT int dup3(int fd, int wanted, int flags) {
  return recorded_duplicate<Call::dup3>(fd, [&] { return real<Call::dup3>(&dup3)(fd, wanted, flags); });
}

DDPSCOPE_EXPORT off_t lseek(int fd, off_t offset, int whence) {
  return recorded_seek<Call::lseek>(fd, offset, whence,
                                    [&] { return real<Call::lseek>(&lseek)(fd, offset, whence); });
}

DDPSCOPE_EXPORT off64_t lseek64(int fd, off64_t offset, int whence) {
  return recorded_seek<Call::lseek64>(fd, offset, whence,
                                      [&] { return real<Call::lseek64>(&lseek64)(fd, offset, whence); });
}

// Variadic: the argument is a number or an address, both in one register, absent for some commands.

DDPSCOPE_EXPORT int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return recorded_control<Call::fcntl>(fd, command, argument,
                                       [&] { return real<Call::fcntl>(&fcntl)(fd, command, argument); });
}

DDPSCOPE_EXPORT int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return recorded_control<Call::fcntl64>(
      fd, command, argument, [&] { return real<Call::fcntl64>(&fcntl64)(fd, command, argument); });
}
