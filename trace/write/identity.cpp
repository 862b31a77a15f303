// Reads /proc/PID/stat, the boot id and the name of the host.
#include "trace/write/identity.h"

#include <string.h>
#include <sys/utsname.h>

#include <algorithm>

#include "trace/write/file_writer.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::trace {
namespace {

std::uint64_t parse_number(const char* text) {
  std::uint64_t value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + static_cast<std::uint64_t>(*text++ - '0');
  return value;
}

// Fields of /proc/PID/stat as proc(5) numbers them, from 3. The name, field 2, may hold blanks and brackets.
struct Stat {
  char text[1024];
  const char* after_name;

  explicit Stat(std::int32_t pid) {
    constexpr char kBefore[] = "/proc/", kAfter[] = "/stat";
    char digits[24], path[64];
    const char* number = format_number(digits + sizeof(digits), static_cast<std::uint64_t>(pid));
    auto bytes = static_cast<std::size_t>(digits + sizeof(digits) - 1 - number);
    memcpy(path, kBefore, sizeof(kBefore) - 1);
    memcpy(path + sizeof(kBefore) - 1, number, bytes);
    memcpy(path + sizeof(kBefore) - 1 + bytes, kAfter, sizeof(kAfter));
    std::size_t size = read_text(path, text, sizeof(text));
    while (size > 0 && text[size] != ')') --size;
    after_name = text + size;
  }
  std::uint64_t field(int number) const {
    const char* at = *after_name ? after_name + 1 : "";
    for (int skip = 3; *at; ++skip) {
      while (*at == ' ') ++at;
      if (skip == number) return parse_number(at);
      while (*at && *at != ' ') ++at;
    }
    return 0;
  }
};

constexpr int kParentPid = 4;
constexpr int kStartTime = 22;

}  // namespace

Identity read_identity() {
  Identity identity{};
  char boot_id[64] = {};
  std::size_t bytes = read_text("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
  identity.host_id = hash_bytes(boot_id, bytes);
  utsname names;
  if (raw_syscall(SYS_uname, as_argument(&names)) == 0)
    memcpy(identity.host, names.nodename, std::min(strlen(names.nodename), sizeof(identity.host) - 1));
  for (char* at = identity.host; *at; ++at)
    if (*at == '/') *at = '_';
  identity.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  Stat own(identity.pid);
  identity.start_time = own.field(kStartTime);
  identity.parent_pid = static_cast<std::int32_t>(own.field(kParentPid));
  if (identity.parent_pid > 0) identity.parent_start_time = start_time_of(identity.parent_pid);
  return identity;
}

std::uint64_t start_time_of(std::int32_t pid) { return Stat(pid).field(kStartTime); }

}  // namespace ddpscope::trace
