// Calls that change what names mean.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "injector/files/lookup_call.h"
#include "injector/files/name_call.h"
#include "injector/files/paths.h"

namespace ddpscope::injector {
namespace {

constexpr auto kLook = LookBefore::kYes;
constexpr auto kBlind = LookBefore::kNo;

NameArgument here(const char* path) { return {AT_FDCWD, path}; }
NameArgument behind(int fd) { return {fd, ""}; }
NameArgument text(const char* path) { return {AT_FDCWD, path, true}; }

// What the working directory was is asked anew after a change.
template <class RealCall>
int changing_directory(RealCall real_call) {
  int result = real_call();
  if (result == 0) forget_working_directory();
  return result;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int rename(const char* path, const char* target) {
  return recorded_name<Call::rename>(here(path), here(target), kLook,
                                     [&] { return real<Call::rename>(&rename)(path, target); });
}

DDPSCOPE_EXPORT int renameat(int directory, const char* path, int target_directory, const char* target) {
  return recorded_name<Call::renameat>({directory, path}, {target_directory, target}, kLook, [&] {
    return real<Call::renameat>(&renameat)(directory, path, target_directory, target);
  });
}

DDPSCOPE_EXPORT int renameat2(int directory, const char* path, int target_directory, const char* target,
                              unsigned flags) {
  return recorded_name<Call::renameat2>({directory, path}, {target_directory, target}, kLook, [&] {
    return real<Call::renameat2>(&renameat2)(directory, path, target_directory, target, flags);
  });
}

DDPSCOPE_EXPORT int link(const char* path, const char* target) {
  return recorded_name<Call::link>(here(path), here(target), kLook,
                                   [&] { return real<Call::link>(&link)(path, target); });
}

DDPSCOPE_EXPORT int linkat(int directory, const char* path, int target_directory, const char* target,
                           int flags) {
  return recorded_name<Call::linkat>({directory, path}, {target_directory, target}, kLook, [&] {
    return real<Call::linkat>(&linkat)(directory, path, target_directory, target, flags);
  });
}

DDPSCOPE_EXPORT int symlink(const char* path, const char* target) {
  return recorded_name<Call::symlink>(text(path), here(target), kBlind,
                                      [&] { return real<Call::symlink>(&symlink)(path, target); });
}

DDPSCOPE_EXPORT int symlinkat(const char* path, int directory, const char* target) {
  return recorded_name<Call::symlinkat>(text(path), {directory, target}, kBlind, [&] {
    return real<Call::symlinkat>(&symlinkat)(path, directory, target);
  });
}

DDPSCOPE_EXPORT int unlink(const char* path) {
  return recorded_name<Call::unlink>(here(path), kNoName, kLook,
                                     [&] { return real<Call::unlink>(&unlink)(path); });
}

DDPSCOPE_EXPORT int unlinkat(int directory, const char* path, int flags) {
  auto real_call = [&] { return real<Call::unlinkat>(&unlinkat)(directory, path, flags); };
  return flags & AT_REMOVEDIR ? recorded_name<Call::rmdir>({directory, path}, kNoName, kLook, real_call)
                              : recorded_name<Call::unlinkat>({directory, path}, kNoName, kLook, real_call);
}

DDPSCOPE_EXPORT int remove(const char* path) {
  return recorded_name<Call::remove>(here(path), kNoName, kLook,
                                     [&] { return real<Call::remove>(&remove)(path); });
}

DDPSCOPE_EXPORT int rmdir(const char* path) {
  return recorded_name<Call::rmdir>(here(path), kNoName, kLook,
                                    [&] { return real<Call::rmdir>(&rmdir)(path); });
}

DDPSCOPE_EXPORT int mkdir(const char* path, mode_t mode) {
  return recorded_new_folder<Call::mkdir>(here(path), [&] { return real<Call::mkdir>(&mkdir)(path, mode); });
}

DDPSCOPE_EXPORT int mkdirat(int directory, const char* path, mode_t mode) {
  return recorded_new_folder<Call::mkdirat>(
      {directory, path}, [&] { return real<Call::mkdirat>(&mkdirat)(directory, path, mode); });
}

DDPSCOPE_EXPORT char* mkdtemp(char* pattern) {
  ddpscope::trace::OpenRecord record = begin_name({Call::mkdtemp, here(pattern), kNoName, kBlind, 0});
  char* made = real<Call::mkdtemp>(&mkdtemp)(pattern);
  if (made) {
    name_made(record, made);
    note_new_folder(record, here(made));
  }
  end_name(record, made != nullptr);
  return made;
}

DDPSCOPE_EXPORT int truncate(const char* path, off_t size) {
  return recorded_name<Call::truncate>(
      here(path), kNoName, kBlind, [&] { return real<Call::truncate>(&truncate)(path, size); },
      static_cast<std::uint64_t>(size));
}

DDPSCOPE_EXPORT int truncate64(const char* path, off64_t size) {
  return recorded_name<Call::truncate64>(
      here(path), kNoName, kBlind, [&] { return real<Call::truncate64>(&truncate64)(path, size); },
      static_cast<std::uint64_t>(size));
}

// Times: who asks for them may wait for others.

DDPSCOPE_EXPORT int utime(const char* path, const utimbuf* times) {
  return recorded_name<Call::utime>(here(path), kNoName, kBlind,
                                    [&] { return real<Call::utime>(&utime)(path, times); });
}

DDPSCOPE_EXPORT int utimes(const char* path, const timeval* times) {
  return recorded_name<Call::utimes>(here(path), kNoName, kBlind,
                                     [&] { return real<Call::utimes>(&utimes)(path, times); });
}

DDPSCOPE_EXPORT int lutimes(const char* path, const timeval* times) {
  return recorded_name<Call::lutimes>(here(path), kNoName, kBlind,
                                      [&] { return real<Call::lutimes>(&lutimes)(path, times); });
}

DDPSCOPE_EXPORT int futimes(int fd, const timeval* times) {
  return recorded_name<Call::futimes>(behind(fd), kNoName, kBlind,
                                      [&] { return real<Call::futimes>(&futimes)(fd, times); });
}

DDPSCOPE_EXPORT int futimesat(int directory, const char* path, const timeval* times) {
  return recorded_name<Call::futimesat>({directory, path ? path : ""}, kNoName, kBlind, [&] {
    return real<Call::futimesat>(&futimesat)(directory, path, times);
  });
}

DDPSCOPE_EXPORT int utimensat(int directory, const char* path, const timespec* times, int flags) {
  return recorded_name<Call::utimensat>({directory, path}, kNoName, kBlind, [&] {
    return real<Call::utimensat>(&utimensat)(directory, path, times, flags);
  });
}

DDPSCOPE_EXPORT int futimens(int fd, const timespec* times) {
  return recorded_name<Call::futimens>(behind(fd), kNoName, kBlind,
                                       [&] { return real<Call::futimens>(&futimens)(fd, times); });
}

DDPSCOPE_EXPORT int chdir(const char* path) {
  return changing_directory([&] {
    return recorded_lookup<Call::chdir>(here(path), [&] { return real<Call::chdir>(&chdir)(path); });
  });
}

DDPSCOPE_EXPORT int fchdir(int directory) {
  return changing_directory([&] {
    return recorded_lookup<Call::fchdir>({directory, ""},
                                         [&] { return real<Call::fchdir>(&fchdir)(directory); });
  });
}
