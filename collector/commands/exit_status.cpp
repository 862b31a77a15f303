// What is left of a process in /proc, and what the kernel keeps of it for those who hold a pidfd.
#include "collector/commands/exit_status.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "trace/write/identity.h"

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

bool still_awaited(std::int32_t pid, int& status) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, field;
  fields >> state;
  constexpr int kBetween = 48;  // fields 4 to 51
  for (int i = 0; i < kBetween; ++i) fields >> field;
  return state == "Z" && fields >> status;
}

}  // namespace

std::int32_t status_of(int pidfd, std::int32_t pid, std::uint64_t start_time) {
  int status = 0;
  if (trace::start_time_of(pid) == start_time && still_awaited(pid, status)) return shell_status(status);
  PidfdInfo info{};
  info.mask = kExitCode;
  bool known = ioctl(pidfd, kGetInfo, &info) == 0 && info.mask & kExitCode;
  return known ? shell_status(info.exit_code) : 0;
}

}  // namespace ddpscope::commands
