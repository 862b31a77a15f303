// opendir, readdir, scandir and their kin.
#include <dirent.h>

#include "injector/files/descriptors.h"
#include "injector/files/directory_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT DIR* opendir(const char* path) {
  return recorded_open_directory<Call::opendir>(path, [&] { return real<Call::opendir>(&opendir)(path); });
}

DDPSCOPE_EXPORT DIR* fdopendir(int fd) {
  LookupInProgress lookup = begin_lookup(Call::fdopendir, {fd, ""});
  DIR* directory = real<Call::fdopendir>(&fdopendir)(fd);
  end_lookup(lookup, {}, directory ? 0 : errno);
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

DDPSCOPE_EXPORT int scandir(const char* path, dirent*** entries, int (*filter)(const dirent*),
                            int (*order)(const dirent**, const dirent**)) {
  return recorded_listing<Call::scandir>(
      {AT_FDCWD, path}, [&] { return real<Call::scandir>(&scandir)(path, entries, filter, order); });
}

DDPSCOPE_EXPORT int scandir64(const char* path, dirent64*** entries, int (*filter)(const dirent64*),
                              int (*order)(const dirent64**, const dirent64**)) {
  return recorded_listing<Call::scandir64>(
      {AT_FDCWD, path}, [&] { return real<Call::scandir64>(&scandir64)(path, entries, filter, order); });
}

DDPSCOPE_EXPORT int scandirat(int directory, const char* path, dirent*** entries,
                              int (*filter)(const dirent*), int (*order)(const dirent**, const dirent**)) {
  return recorded_listing<Call::scandirat>({directory, path}, [&] {
    return real<Call::scandirat>(&scandirat)(directory, path, entries, filter, order);
  });
}

DDPSCOPE_EXPORT int scandirat64(int directory, const char* path, dirent64*** entries,
                                int (*filter)(const dirent64*),
                                int (*order)(const dirent64**, const dirent64**)) {
  return recorded_listing<Call::scandirat64>({directory, path}, [&] {
    return real<Call::scandirat64>(&scandirat64)(directory, path, entries, filter, order);
  });
}
