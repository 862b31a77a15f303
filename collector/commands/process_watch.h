// When each recorded process of a job ended, seen from outside: a process that a signal ends while it waits
// leaves no record of that, and its trace alone cannot tell a hang from a job that was cut short.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collector/commands/memory_cgroups.h"
#include "trace/write/clock.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {

// Watches the processes of this host that begin a trace in `folder` from now on. Costs the job nothing. Where
// the kernel lacks inotify or pidfd_open (Linux 5.3), or beyond half of the descriptors that we may have, it
// sees less.
class ProcessWatch {
 public:
  explicit ProcessWatch(const std::filesystem::path& folder);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  int fd() const { return epoll_; }  // readable: there is something for look(); -1: nothing will ever be
  void look();

  // A signal came for the job from `sender` (0: unknown) and is handed on.
  void note_signal(int signal, std::int32_t sender);

  // Leaves a trace file of this process in the folder: what look() and note_signal() saw, and that the job,
  // named by `run` (as DDPSCOPE_RUN is), lasted until now and ended with `exit_code`. Without room for it,
  // nothing is left. Ends the watch.
  void write(const std::string& run, int exit_code);

 private:
  struct Seen {
    std::int32_t pid;
    std::uint64_t start_time;
    std::uint64_t ended;         // ticks
    std::int32_t status;         // exit code, or 128 + signal; 0 also: not known
    std::uint32_t memory_kills;  // if SIGKILL may have ended it, see MemoryKills::take
  };
  void close_all();
  void meet_new_files();
  void meet(const std::string& file);
  std::uint32_t count_memory_kills(const Seen& seen);

  std::filesystem::path folder_;
  trace::Clock clock_;
  trace::Identity own_;
  std::uint64_t began_;
  std::size_t most_;  // processes watched at a time
  int epoll_;
  int inotify_;
  std::map<int, Seen> alive_;  // by pidfd
  std::vector<Seen> ended_;
  MemoryKills memory_kills_;
  struct Told {
    int signal;
    std::int32_t sender;
    std::uint64_t at;  // ticks
  };
  std::vector<Told> told_;
};

}  // namespace ddpscope::commands
