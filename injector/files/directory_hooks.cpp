// opendir, readdir, scandir and their kin.
#include <dirent.h>

#include "injector/files/descriptors.h"
#include "injector/files/directory_call.h"

using namespace ddpscope::injector;

namespace {
NamedFunction<void(DIR*)> real_rewinddir("rewinddir");
NamedFunction<void(DIR*, long)> real_seekdir("seekdir");
NamedFunction<ssize_t(int, void*, size_t)> real_getdents64("getdents64");
}  // namespace

DDPSCOPE_EXPORT DIR* opendir(const char* path) {
  return recorded_open_directory<Call::opendir>(path, [&] { return real<Call::opendir>(&opendir)(path); });
}

DDPSCOPE_EXPORT DIR* fdopendir(int fd) {
  LookupInProgress lookup = begin_lookup(Call::fdopendir, {fd, ""});
  DIR* directory = real<Call::fdopendir>(&fdopendir)(fd);
  end_lookup(lookup, {}, directory ? 0 : errno);
  if (directory) read_listing(directory, fd);
  return directory;
}

DDPSCOPE_EXPORT int closedir(DIR* directory) {
  OpenRecord record = begin_close_directory(Call::closedir, dirfd(directory));
  int result = real<Call::closedir>(&closedir)(directory);
  end_close_directory(record, result);
  return result;
}

DDPSCOPE_EXPORT dirent* readdir(DIR* directory) {
  return recorded_entry<Call::readdir>(directory, [&] { return real<Call::readdir>(&readdir)(directory); });
}

DDPSCOPE_EXPORT dirent64* readdir64(DIR* directory) {
  return recorded_entry<Call::readdir64>(directory,
                                         [&] { return real<Call::readdir64>(&readdir64)(directory); });
}

// Deprecated, and used by programs that were built before they were.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
DDPSCOPE_EXPORT int readdir_r(DIR* directory, dirent* entry, dirent** result) {
  return recorded_copied_entry<Call::readdir_r>(
      directory, result, [&] { return real<Call::readdir_r>(&readdir_r)(directory, entry, result); });
}

DDPSCOPE_EXPORT int readdir64_r(DIR* directory, dirent64* entry, dirent64** result) {
  return recorded_copied_entry<Call::readdir64_r>(
      directory, result, [&] { return real<Call::readdir64_r>(&readdir64_r)(directory, entry, result); });
}

DDPSCOPE_EXPORT void rewinddir(DIR* directory) {
  restart_listing(directory, dirfd(directory));
  real_rewinddir.get()(directory);
}

DDPSCOPE_EXPORT void seekdir(DIR* directory, long position) {
  forget_listing(dirfd(directory));
  real_seekdir.get()(directory, position);
}

DDPSCOPE_EXPORT ssize_t getdents64(int fd, void* buffer, size_t bytes) {
  forget_listing(fd);
  return real_getdents64.get()(fd, buffer, bytes);
}

DDPSCOPE_EXPORT int scandir(const char* path, dirent*** entries, int (*filter)(const dirent*),
                            int (*order)(const dirent**, const dirent**)) {
  return recorded_listing<Call::scandir>({AT_FDCWD, path}, entries, filter != nullptr, [&] {
    return real<Call::scandir>(&scandir)(path, entries, filter, order);
  });
}

DDPSCOPE_EXPORT int scandir64(const char* path, dirent64*** entries, int (*filter)(const dirent64*),
                              int (*order)(const dirent64**, const dirent64**)) {
  return recorded_listing<Call::scandir64>({AT_FDCWD, path}, entries, filter != nullptr, [&] {
    return real<Call::scandir64>(&scandir64)(path, entries, filter, order);
  });
}

DDPSCOPE_EXPORT int scandirat(int directory, const char* path, dirent*** entries,
                              int (*filter)(const dirent*), int (*order)(const dirent**, const dirent**)) {
  return recorded_listing<Call::scandirat>({directory, path}, entries, filter != nullptr, [&] {
    return real<Call::scandirat>(&scandirat)(directory, path, entries, filter, order);
  });
}

DDPSCOPE_EXPORT int scandirat64(int directory, const char* path, dirent64*** entries,
                                int (*filter)(const dirent64*),
                                int (*order)(const dirent64**, const dirent64**)) {
  return recorded_listing<Call::scandirat64>({directory, path}, entries, filter != nullptr, [&] {
    return real<Call::scandirat64>(&scandirat64)(directory, path, entries, filter, order);
  });
}
