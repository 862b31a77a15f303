// Reads the boot id and the name of the host.
#include "trace/write/identity.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>

#include "trace/write/file_writer.h"
#include "trace/write/process_stat.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::trace {

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
  ProcessStat own(identity.pid);
  identity.start_time = own.field(ProcessStat::kStartTime);
  identity.parent_pid = static_cast<std::int32_t>(own.field(ProcessStat::kParentPid));
  if (identity.parent_pid > 0) identity.parent_start_time = start_time_of(identity.parent_pid);
  struct stat space {};
  constexpr char kSpace[] = "/proc/self/ns/pid";
  if (raw_syscall(SYS_newfstatat, AT_FDCWD, as_argument(kSpace), as_argument(&space), 0) == 0)
    identity.pid_namespace = space.st_ino;
  return identity;
}

std::uint64_t start_time_of(std::int32_t pid) { return ProcessStat(pid).field(ProcessStat::kStartTime); }

}  // namespace ddpscope::trace
