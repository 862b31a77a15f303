// Asks /proc.
#include "collector/live/machine.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "trace/write/process_stat.h"

namespace ddpscope::live {
namespace {

using trace::ProcessStat;

constexpr const char* kFutex = "futex";

// Those in which a thread may stay for long. `on_file`: the first argument is a descriptor.
struct SystemCall {
  long number;
  const char* name;
  bool on_file = false;
};
constexpr std::array kSystemCalls{
    SystemCall{SYS_nanosleep, "nanosleep"},
    SystemCall{SYS_clock_nanosleep, "clock_nanosleep"},
    SystemCall{SYS_read, "read", true},
    SystemCall{SYS_pread64, "pread64", true},
    SystemCall{SYS_readv, "readv", true},
    SystemCall{SYS_write, "write", true},
    SystemCall{SYS_pwrite64, "pwrite64", true},
    SystemCall{SYS_writev, "writev", true},
    SystemCall{SYS_recvfrom, "recvfrom", true},
    SystemCall{SYS_recvmsg, "recvmsg", true},
    SystemCall{SYS_sendto, "sendto", true},
    SystemCall{SYS_sendmsg, "sendmsg", true},
    SystemCall{SYS_accept, "accept", true},
    SystemCall{SYS_accept4, "accept4", true},
    SystemCall{SYS_connect, "connect", true},
    SystemCall{SYS_flock, "flock", true},
    SystemCall{SYS_fcntl, "fcntl", true},
    SystemCall{SYS_ioctl, "ioctl", true},
    SystemCall{SYS_fsync, "fsync", true},
    SystemCall{SYS_fdatasync, "fdatasync", true},
    SystemCall{SYS_getdents64, "getdents64", true},
    SystemCall{SYS_ppoll, "ppoll"},
    SystemCall{SYS_pselect6, "pselect6"},
    SystemCall{SYS_epoll_pwait, "epoll_pwait"},
    SystemCall{SYS_openat, "openat"},
    SystemCall{SYS_wait4, "wait4"},
    SystemCall{SYS_waitid, "waitid"},
    SystemCall{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    SystemCall{SYS_rt_sigsuspend, "rt_sigsuspend"},
    SystemCall{SYS_semtimedop, "semtimedop"},
    SystemCall{SYS_semop, "semop"},
    SystemCall{SYS_msgrcv, "msgrcv"},
    SystemCall{SYS_msgsnd, "msgsnd"},
    SystemCall{SYS_mq_timedreceive, "mq_timedreceive"},
#ifdef SYS_poll  // older than the table that later processors share
    SystemCall{SYS_poll, "poll"},
    SystemCall{SYS_select, "select"},
    SystemCall{SYS_epoll_wait, "epoll_wait"},
    SystemCall{SYS_open, "open"},
    SystemCall{SYS_pause, "pause"},
#endif
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Inside inside(const std::string& folder, long number, std::string_view arguments) {
  if (number == SYS_futex) return {Doing::kAwaitsThread, ""};
  auto call = std::find_if(kSystemCalls.begin(), kSystemCalls.end(),
                           [&](const SystemCall& known) { return known.number == number; });
  if (call == kSystemCalls.end()) return {Doing::kInside, fmt::format("system call {}", number)};
  Inside found{Doing::kInside, call->name};
  unsigned descriptor = 0;
  constexpr std::string_view kBefore = " 0x";
  if (!call->on_file || !arguments.starts_with(kBefore)) return found;
  arguments.remove_prefix(kBefore.size());
  constexpr int kHexadecimal = 16;
  std::from_chars(arguments.data(), arguments.data() + arguments.size(), descriptor, kHexadecimal);
  std::error_code none;
  auto file = std::filesystem::read_symlink(fmt::format("{}/fd/{}", folder, descriptor), none);
  if (!file.empty()) found.what += " of " + file.string();
  return found;
}

std::vector<std::int32_t> threads_of(std::int32_t pid) {
  std::vector<std::int32_t> threads;
  std::error_code none;
  std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid), none), end;
  for (; !none && tasks != end; tasks.increment(none)) {
    std::string name = tasks->path().filename();
    std::from_chars(name.data(), name.data() + name.size(), threads.emplace_back());
  }
  return threads;
}

std::int64_t cpu_ns_of(std::int32_t pid) {
  ProcessStat stat(pid);
  long hertz = ::sysconf(_SC_CLK_TCK);
  auto ticks = stat.field(ProcessStat::kUserTime) + stat.field(ProcessStat::kSystemTime);
  return static_cast<std::int64_t>(ticks) * (1'000'000'000 / (hertz > 0 ? hertz : 100));
}

}  // namespace

model::Life see(const trace::FileHeader& header, const trace::Identity& here) {
  bool same_pids = !header.pid_namespace || header.pid_namespace == here.pid_namespace;
  if (header.host_id != here.host_id || !same_pids) return model::Life::kNotAsked;
  ProcessStat stat(header.pid);
  char state = stat.state();
  bool another = header.start_time && stat.field(ProcessStat::kStartTime) != header.start_time;
  if (!state || another || stat.is_dead()) return model::Life::kGone;
  return state == 'T' || state == 't' ? model::Life::kStopped : model::Life::kRuns;
}

Activity activity_of(std::int32_t pid) {
  Activity found{cpu_ns_of(pid)};
  for (std::int32_t tid : threads_of(pid)) {
    found.runs = found.runs || ProcessStat(tid).state() == 'R';
    std::istringstream children(first_line(fmt::format("/proc/{}/task/{}/children", pid, tid)));
    for (std::int32_t child = 0; children >> child;) {
      Activity own = activity_of(child);
      found.cpu_ns += own.cpu_ns;
      found.runs = found.runs || own.runs;
    }
  }
  return found;
}

std::uint64_t moved_bytes(std::int32_t pid, std::int32_t tid) {
  std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
  std::uint64_t moved = 0, bytes = 0;
  std::ifstream counters(folder + "/io");  // "rchar: 4292", a line each
  for (std::string name; counters >> name >> bytes;)
    if (name == "rchar:" || name == "wchar:") moved += bytes;
  auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return moved + ProcessStat(pid).field(ProcessStat::kMajorFaults) * page;
}

std::map<std::int32_t, std::uint64_t> processor_waits(std::int32_t pid) {
  std::map<std::int32_t, std::uint64_t> waits;
  for (std::int32_t tid : threads_of(pid)) {
    // How long it ran, how long it waited, how often.
    std::istringstream line(first_line(fmt::format("/proc/{}/task/{}/schedstat", pid, tid)));
    if (std::uint64_t ran = 0, waited = 0; line >> ran >> waited) waits[tid] = waited;
  }
  return waits;
}

// "running", or the number, six arguments, stack pointer and address; -1: blocked outside of any call.
Inside look_inside(std::int32_t pid, std::int32_t tid) {
  std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
  std::string line = first_line(folder + "/syscall");
  if (line == "running") return {Doing::kRuns, ""};
  long number = -1;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{} || number < 0) return {};
  return inside(folder, number, {end, line.data() + line.size()});
}

std::string to_place(const Inside& inside) {
  return inside.doing == Doing::kAwaitsThread ? kFutex : inside.what;
}

std::string to_text(const Inside& inside) {
  switch (inside.doing) {
    case Doing::kRuns:
      return "runs code of its own";
    case Doing::kAwaitsThread:
      return "waits for another thread (in futex: a lock, a condition variable or a semaphore)";
    case Doing::kInside:
      return "is inside " + inside.what;
    case Doing::kUnknown:
      break;
  }
  return "";
}

}  // namespace ddpscope::live
