// Names as the guest gives them, made absolute by their text alone.
#pragma once
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// The working directory, asked from the kernel once and after every change.
const char* working_directory();
void forget_working_directory();

// The path of an open descriptor as the kernel gives it now (one system call, 5 us); its length, 0 if it has
// none.
std::size_t read_descriptor_path(int fd, char* out, std::size_t room);

// What is neither data nor order between ranks: /proc, /sys, /dev (but files in /dev/shm that are no
// library's own are data), Python's compiled modules, caches of compilers and kernels. `path` is absolute.
bool is_ignored(const char* path, std::size_t size);

// Joins and normalises: no empty or "." component, ".." takes its neighbour away (a symbolic link before it
// is not followed: that would be a system call). `out` has room for both and two bytes more. Returns the
// length.
std::size_t join_path(char* out, const char* base, const char* path);

// Base of relative names: the text of an open directory, see directories.h; nullptr if it was never met.
const char* directory_text(int directory);

struct PathText {
  const char* text;
  std::size_t size;
};

// Runs use(PathText) with the absolute form of `path`. It lives on the stack for that long and takes no more
// of it than it needs, because hooks run on signal stacks too. An empty path means the directory itself.
template <class Use>
auto with_absolute_path(int directory, const char* path, Use use) {
  const char* base = "";
  if (*path != '/') base = directory == AT_FDCWD ? working_directory() : directory_text(directory);
  if (!base) {
    char* room = static_cast<char*>(__builtin_alloca(trace::kMaxPath));
    room[read_descriptor_path(directory, room, trace::kMaxPath - 1)] = 0;
    base = room;
  }
  char* out = static_cast<char*>(__builtin_alloca(std::strlen(base) + std::strlen(path) + 2));
  return use(PathText{out, join_path(out, base, path)});
}

}  // namespace ddpscope::injector
