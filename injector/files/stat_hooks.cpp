// The stat and access families.
#include <sys/stat.h>
#include <unistd.h>

#include "injector/files/lookup_call.h"

namespace ddpscope::injector {
namespace {

NameArgument here(const char* path) { return {AT_FDCWD, path}; }
NameArgument descriptor_itself(int fd) { return {fd, ""}; }

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int stat(const char* path, struct stat* state) {
  return recorded_stat<Call::stat>(here(path), state, [&] { return real<Call::stat>(&stat)(path, state); });
}

DDPSCOPE_EXPORT int stat64(const char* path, struct stat64* state) {
  return recorded_stat<Call::stat64>(here(path), state,
                                     [&] { return real<Call::stat64>(&stat64)(path, state); });
}

DDPSCOPE_EXPORT int lstat(const char* path, struct stat* state) {
  return recorded_stat<Call::lstat>(here(path), state,
                                    [&] { return real<Call::lstat>(&lstat)(path, state); });
}

DDPSCOPE_EXPORT int lstat64(const char* path, struct stat64* state) {
  return recorded_stat<Call::lstat64>(here(path), state,
                                      [&] { return real<Call::lstat64>(&lstat64)(path, state); });
}

DDPSCOPE_EXPORT int fstat(int fd, struct stat* state) {
  return recorded_stat<Call::fstat>(descriptor_itself(fd), state,
                                    [&] { return real<Call::fstat>(&fstat)(fd, state); });
}

DDPSCOPE_EXPORT int fstat64(int fd, struct stat64* state) {
  return recorded_stat<Call::fstat64>(descriptor_itself(fd), state,
                                      [&] { return real<Call::fstat64>(&fstat64)(fd, state); });
}

DDPSCOPE_EXPORT int fstatat(int directory, const char* path, struct stat* state, int flags) {
  return recorded_stat<Call::fstatat>(
      {directory, path}, state, [&] { return real<Call::fstatat>(&fstatat)(directory, path, state, flags); });
}

DDPSCOPE_EXPORT int fstatat64(int directory, const char* path, struct stat64* state, int flags) {
  return recorded_stat<Call::fstatat64>({directory, path}, state, [&] {
    return real<Call::fstatat64>(&fstatat64)(directory, path, state, flags);
  });
}

DDPSCOPE_EXPORT int statx(int directory, const char* path, int flags, unsigned mask, struct statx* state) {
  return recorded_stat<Call::statx>({directory, path}, state, [&] {
    return real<Call::statx>(&statx)(directory, path, flags, mask, state);
  });
}

// What programs linked before glibc 2.33 call.

extern "C" int __xstat(int, const char*, struct stat*);
extern "C" int __xstat64(int, const char*, struct stat64*);
extern "C" int __lxstat(int, const char*, struct stat*);
extern "C" int __lxstat64(int, const char*, struct stat64*);
extern "C" int __fxstat(int, int, struct stat*);
extern "C" int __fxstat64(int, int, struct stat64*);
extern "C" int __fxstatat(int, int, const char*, struct stat*, int);
extern "C" int __fxstatat64(int, int, const char*, struct stat64*, int);

DDPSCOPE_EXPORT int __xstat(int version, const char* path, struct stat* state) {
  return recorded_stat<Call::__xstat>(here(path), state,
                                      [&] { return real<Call::__xstat>(&__xstat)(version, path, state); });
}

DDPSCOPE_EXPORT int __xstat64(int version, const char* path, struct stat64* state) {
  return recorded_stat<Call::__xstat64>(
      here(path), state, [&] { return real<Call::__xstat64>(&__xstat64)(version, path, state); });
}

DDPSCOPE_EXPORT int __lxstat(int version, const char* path, struct stat* state) {
  return recorded_stat<Call::__lxstat>(here(path), state,
                                       [&] { return real<Call::__lxstat>(&__lxstat)(version, path, state); });
}

DDPSCOPE_EXPORT int __lxstat64(int version, const char* path, struct stat64* state) {
  return recorded_stat<Call::__lxstat64>(
      here(path), state, [&] { return real<Call::__lxstat64>(&__lxstat64)(version, path, state); });
}

DDPSCOPE_EXPORT int __fxstat(int version, int fd, struct stat* state) {
  return recorded_stat<Call::__fxstat>(descriptor_itself(fd), state,
                                       [&] { return real<Call::__fxstat>(&__fxstat)(version, fd, state); });
}

DDPSCOPE_EXPORT int __fxstat64(int version, int fd, struct stat64* state) {
  return recorded_stat<Call::__fxstat64>(
      descriptor_itself(fd), state, [&] { return real<Call::__fxstat64>(&__fxstat64)(version, fd, state); });
}

DDPSCOPE_EXPORT int __fxstatat(int version, int directory, const char* path, struct stat* state, int flags) {
  return recorded_stat<Call::__fxstatat>({directory, path}, state, [&] {
    return real<Call::__fxstatat>(&__fxstatat)(version, directory, path, state, flags);
  });
}

DDPSCOPE_EXPORT int __fxstatat64(int version, int directory, const char* path, struct stat64* state,
                                 int flags) {
  return recorded_stat<Call::__fxstatat64>({directory, path}, state, [&] {
    return real<Call::__fxstatat64>(&__fxstatat64)(version, directory, path, state, flags);
  });
}

// Whether a name may be used.

DDPSCOPE_EXPORT int access(const char* path, int mode) {
  return recorded_access<Call::access>(here(path), [&] { return real<Call::access>(&access)(path, mode); });
}

DDPSCOPE_EXPORT int faccessat(int directory, const char* path, int mode, int flags) {
  return recorded_access<Call::faccessat>(
      {directory, path}, [&] { return real<Call::faccessat>(&faccessat)(directory, path, mode, flags); });
}

DDPSCOPE_EXPORT int euidaccess(const char* path, int mode) {
  return recorded_access<Call::euidaccess>(here(path),
                                           [&] { return real<Call::euidaccess>(&euidaccess)(path, mode); });
}

DDPSCOPE_EXPORT int eaccess(const char* path, int mode) {
  return recorded_access<Call::eaccess>(here(path),
                                        [&] { return real<Call::eaccess>(&eaccess)(path, mode); });
}

// Symbolic links.

extern "C" ssize_t __readlink_chk(const char*, char*, size_t, size_t);
extern "C" ssize_t __readlinkat_chk(int, const char*, char*, size_t, size_t);

DDPSCOPE_EXPORT ssize_t readlink(const char* path, char* out, size_t room) {
  return recorded_link<Call::readlink>(here(path),
                                       [&] { return real<Call::readlink>(&readlink)(path, out, room); });
}

DDPSCOPE_EXPORT ssize_t readlinkat(int directory, const char* path, char* out, size_t room) {
  return recorded_link<Call::readlinkat>(
      {directory, path}, [&] { return real<Call::readlinkat>(&readlinkat)(directory, path, out, room); });
}

DDPSCOPE_EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t bytes, size_t room) {
  return recorded_link<Call::__readlink_chk>(
      here(path), [&] { return real<Call::__readlink_chk>(&__readlink_chk)(path, out, bytes, room); });
}

DDPSCOPE_EXPORT ssize_t __readlinkat_chk(int directory, const char* path, char* out, size_t bytes,
                                         size_t room) {
  return recorded_link<Call::__readlinkat_chk>({directory, path}, [&] {
    return real<Call::__readlinkat_chk>(&__readlinkat_chk)(directory, path, out, bytes, room);
  });
}
