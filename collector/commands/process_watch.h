// When each recorded process of a job ended, seen from outside: a process that a signal ends while it waits
// leaves no record of that, and its trace alone cannot tell a hang from a job that was cut short.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/commands/memory_cgroups.h"
#include "collector/commands/thread_watch.h"
#include "trace/write/clock.h"
#include "trace/write/file_writer.h"
#include "trace/write/identity.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::commands {

struct RunningProcess {
  std::int32_t pid;
  std::string name;
};

// Watches the processes of this host that begin a trace in `folder` from now on, and writes what it sees into
// a trace file of its own there: from the first end on, at once, so that who looks from another host knows it
// and it outlives us. Costs the job nothing. Where the kernel lacks inotify or pidfd_open (Linux 5.3), or
// beyond half of the descriptors that we may have, it sees less; where there is no room, it writes nothing.
class ProcessWatch {
 public:
  // `run` names the job, as DDPSCOPE_RUN does.
  ProcessWatch(const std::filesystem::path& folder, std::string run);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  int fd() const { return epoll_; }  // readable: there is something for look(); -1: nothing will ever be
  void look();

  bool has_met_any() const { return met_any_; }  // a trace that began since, whoever writes it

  // A signal came for the job from `sender` (0: unknown) and is handed on.
  void note_signal(int signal, std::int32_t sender);

  // The job's command has ended just now. What it leaves is watched further.
  void note_end() { over_ = trace::read_ticks(clock_.kind); }

  // The processes of this run that are watched and have not ended. Those of other runs may be in the folder.
  std::vector<RunningProcess> running();

  // The job ended with `exit_code`. Ends the watch; those that are still running are noted as such.
  void finish(int exit_code);

 private:
  struct Seen {
    std::int32_t pid;
    std::uint64_t start_time;
    std::uint64_t ended;         // ticks
    std::int32_t status;         // exit code, or 128 + signal; 0 also: not known
    std::uint32_t memory_kills;  // if SIGKILL may have ended it, see MemoryKills::take
    std::string file{};          // in the folder, the first of it
    std::string run{};           // whose it is; empty: not known yet
  };
  void close_all();
  void meet_new_files();
  void meet(const std::string& file);
  bool open_file();
  template <trace::Call call>
  void write(const trace::PayloadOf<call>& payload, std::uint64_t from, std::uint64_t to);
  void write_news();
  std::uint32_t count_memory_kills(const Seen& seen);

  std::filesystem::path folder_;
  std::string run_;
  trace::Clock clock_;
  trace::Identity own_;
  std::uint64_t began_, over_ = 0;  // of the job; ticks
  std::size_t most_;                // processes watched at a time
  int epoll_;
  int inotify_;
  bool met_any_ = false;
  std::map<int, Seen> alive_;  // by pidfd
  std::vector<Seen> ended_;    // not yet written
  MemoryKills memory_kills_;
  ThreadWatch threads_;  // of those that are alive
  struct Told {
    int signal;
    std::int32_t sender;
    std::uint64_t at;  // ticks
  };
  std::vector<Told> told_;  // not yet written
  int told_count_ = 0;
  std::unique_ptr<trace::FileWriter> file_;
  trace::ThreadWriter writer_{};
};

}  // namespace ddpscope::commands
