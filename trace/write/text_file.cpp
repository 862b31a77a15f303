// open, read, close.
#include "trace/write/text_file.h"

#include <fcntl.h>
#include <string.h>

#include <initializer_list>

#include "trace/write/raw_syscall.h"

namespace ddpscope::trace {

std::size_t read_text(const char* path, char* out, std::size_t bytes) {
  std::size_t size = 0;
  long fd = raw_syscall(SYS_openat, AT_FDCWD, as_argument(path), O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && size < bytes - 1) {
    long got = raw_syscall(SYS_read, fd, as_argument(out + size), static_cast<long>(bytes - 1 - size));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (fd >= 0) raw_syscall(SYS_close, fd);
  out[size] = 0;
  return size;
}

ProcPath::ProcPath(std::int32_t pid, const char* file) {
  char digits[24];
  const char* number = format_number(digits + sizeof(digits), static_cast<std::uint64_t>(pid));
  char* end = text_;
  for (const char* part : {"/proc/", number, "/", file}) {
    std::size_t bytes = strlen(part);
    memcpy(end, part, bytes + 1);
    end += bytes;
  }
}

char* format_number(char* end, std::uint64_t number) {
  *--end = 0;
  do *--end = static_cast<char>('0' + number % 10);
  while (number /= 10);
  return end;
}

}  // namespace ddpscope::trace
