// open, openat, creat and their kin.
#include <stdarg.h>
#include <stdlib.h>

#include "injector/files/open_call.h"

namespace ddpscope::injector {
namespace {

mode_t mode_argument(int flags, va_list arguments) {
  return takes_mode(flags) ? va_arg(arguments, mode_t) : 0;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

// These four are variadic, so their mode is read before the one expression.

DDPSCOPE_EXPORT int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return recorded_open<Call::open>(AT_FDCWD, path, flags, mode,
                                   [&] { return real<Call::open>(&open)(path, flags, mode); });
}

DDPSCOPE_EXPORT int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return recorded_open<Call::open64>(AT_FDCWD, path, flags, mode,
                                     [&] { return real<Call::open64>(&open64)(path, flags, mode); });
}

DDPSCOPE_EXPORT int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return recorded_open<Call::openat>(directory, path, flags, mode, [&] {
    return real<Call::openat>(&openat)(directory, path, flags, mode);
  });
}

DDPSCOPE_EXPORT int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return recorded_open<Call::openat64>(directory, path, flags, mode, [&] {
    return real<Call::openat64>(&openat64)(directory, path, flags, mode);
  });
}

DDPSCOPE_EXPORT int creat(const char* path, mode_t mode) {
  return recorded_open<Call::creat>(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode,
                                    [&] { return real<Call::creat>(&creat)(path, mode); });
}

DDPSCOPE_EXPORT int creat64(const char* path, mode_t mode) {
  return recorded_open<Call::creat64>(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode,
                                      [&] { return real<Call::creat64>(&creat64)(path, mode); });
}

// What the compiler makes of an open without a mode when it checks for overflows.

extern "C" int __open_2(const char*, int);
extern "C" int __open64_2(const char*, int);
extern "C" int __openat_2(int, const char*, int);
extern "C" int __openat64_2(int, const char*, int);

DDPSCOPE_EXPORT int __open_2(const char* path, int flags) {
  return recorded_open<Call::__open_2>(AT_FDCWD, path, flags, 0,
                                       [&] { return real<Call::__open_2>(&__open_2)(path, flags); });
}

DDPSCOPE_EXPORT int __open64_2(const char* path, int flags) {
  return recorded_open<Call::__open64_2>(AT_FDCWD, path, flags, 0,
                                         [&] { return real<Call::__open64_2>(&__open64_2)(path, flags); });
}

DDPSCOPE_EXPORT int __openat_2(int directory, const char* path, int flags) {
  return recorded_open<Call::__openat_2>(
      directory, path, flags, 0, [&] { return real<Call::__openat_2>(&__openat_2)(directory, path, flags); });
}

DDPSCOPE_EXPORT int __openat64_2(int directory, const char* path, int flags) {
  return recorded_open<Call::__openat64_2>(directory, path, flags, 0, [&] {
    return real<Call::__openat64_2>(&__openat64_2)(directory, path, flags);
  });
}
