// Reads through a buffer of its own mapping: the guest's threads may have stacks of 16 KiB.
#include "injector/core/text_lines.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

constexpr std::size_t kBufferBytes = 60 * 1024;

bool failed(long result) { return result < 0 && result > -4096; }

// Hands out the whole lines in `text`; true: go on reading. `*rest` is where the unfinished line starts.
bool take_lines(char* text, std::size_t bytes, char** rest, bool (*take)(const char*, std::size_t, void*),
                void* argument, char ends_with) {
  char* end = text + bytes;
  for (*rest = text;;) {
    auto* line_end = static_cast<char*>(memchr(*rest, ends_with, static_cast<std::size_t>(end - *rest)));
    if (!line_end) return true;
    if (!take(*rest, static_cast<std::size_t>(line_end - *rest), argument)) return false;
    *rest = line_end + 1;
  }
}

}  // namespace

void for_each_line(const char* path, bool (*take)(const char*, std::size_t, void*), void* argument,
                   char ends_with) {
  long fd = raw_syscall(SYS_openat, AT_FDCWD, as_argument(path), O_RDONLY | O_CLOEXEC);
  if (failed(fd)) return;
  long mapped =
      raw_syscall(SYS_mmap, 0, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* buffer = reinterpret_cast<char*>(mapped);
  std::size_t held = 0;
  while (!failed(mapped)) {
    long got = raw_syscall(SYS_read, fd, as_argument(buffer + held), static_cast<long>(kBufferBytes - held));
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    char* rest = buffer;
    if (!take_lines(buffer, held, &rest, take, argument, ends_with)) break;
    held -= static_cast<std::size_t>(rest - buffer);
    if (held == kBufferBytes) held = 0;
    memmove(buffer, rest, held);
  }
  if (!failed(mapped)) raw_syscall(SYS_munmap, mapped, kBufferBytes);
  raw_syscall(SYS_close, fd);
}

std::uint64_t parse_hex(const char* text, const char* end) {
  std::uint64_t value = 0;
  for (; text < end; ++text) {
    int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                               : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<std::uint64_t>(digit);
  }
  return value;
}

}  // namespace ddpscope::injector
