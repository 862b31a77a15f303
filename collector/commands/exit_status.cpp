// What is left of a process in /proc, and what the kernel keeps of it for those who hold a pidfd.
#include "collector/commands/exit_status.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include "trace/write/process_stat.h"

namespace ddpscope::commands {
namespace {

// struct pidfd_info of <linux/pidfd.h> in its first published size; Debian 12's headers do not have it.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t pid, tgid, ppid, ids[8];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::uint64_t kExitCode = 1 << 3;  // PIDFD_INFO_EXIT

std::int32_t shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::int32_t status_of(int pidfd, std::int32_t pid, std::uint64_t start_time) {
  using trace::ProcessStat;
  ProcessStat stat(pid);
  // Until its parent has taken it the kernel does not keep the status for pidfds.
  if (stat.is_dead() && stat.field(ProcessStat::kStartTime) == start_time)
    return shell_status(static_cast<int>(stat.field(ProcessStat::kExitCode)));
  PidfdInfo info{};
  info.mask = kExitCode;
  bool known = ioctl(pidfd, kGetInfo, &info) == 0 && info.mask & kExitCode;
  return known ? shell_status(info.exit_code) : 0;
}

}  // namespace ddpscope::commands
