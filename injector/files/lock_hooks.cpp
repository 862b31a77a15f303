// flock and lockf; the locks of fcntl come through descriptor_hooks.cpp.
#include <sys/file.h>
#include <unistd.h>

#include "injector/files/lock_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int flock(int fd, int operation) {
  return recorded_lock<Call::flock>(fd, operation, 0,
                                    [&] { return real<Call::flock>(&flock)(fd, operation); });
}

DDPSCOPE_EXPORT int lockf(int fd, int command, off_t bytes) {
  return recorded_lock<Call::lockf>(fd, command, 0,
                                    [&] { return real<Call::lockf>(&lockf)(fd, command, bytes); });
}

DDPSCOPE_EXPORT int lockf64(int fd, int command, off64_t bytes) {
  return recorded_lock<Call::lockf64>(fd, command, 0,
                                      [&] { return real<Call::lockf64>(&lockf64)(fd, command, bytes); });
}
