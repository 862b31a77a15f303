// What the kernel's out-of-memory killer did in the memory cgroups of a job.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddpscope::commands {

// Where the memory controller's cgroups are mounted (/proc/self/mountinfo), of either version.
class MemoryCgroups {
 public:
  MemoryCgroups();

  // The file in which the kernel counts for the process's cgroup: memory.events (cgroup v2,
  // Documentation/admin-guide/cgroup-v2.rst) or memory.oom_control (v1). Empty where the process is gone, or
  // its cgroup cannot be seen from here.
  std::string counter_of(std::int32_t pid) const;

 private:
  struct Mount {
    bool unified;      // v2
    std::string root;  // the cgroup that is mounted there
    std::string at;
  };
  std::vector<Mount> mounts_;
};

// Processes that the killer has ended, counted from the moment at which each counter was first looked at.
// Whose end it was the kernel does not tell: each process that SIGKILL ended stands for one of them.
class MemoryKills {
 public:
  // From now on what happens in the process's cgroup counts.
  void meet(std::int32_t pid, std::uint64_t start_time);
  // How many of its cgroup the killer has ended so far; 0: none, or only as many as were taken, or nothing is
  // known.
  std::uint32_t look(std::int32_t pid, std::uint64_t start_time);
  // The same, and the process is taken for one of them.
  std::uint32_t take(std::int32_t pid, std::uint64_t start_time);

 private:
  struct Counter {
    std::uint64_t first = 0;  // what it showed when it was met
    std::uint64_t last = 0;   // and when it was last read: the cgroup may be gone by now
    std::uint64_t taken = 0;
  };
  MemoryCgroups cgroups_;
  std::map<std::string, Counter> counters_;                                           // by file
  std::map<std::pair<std::int32_t, std::uint64_t>, std::string> counter_of_process_;  // by pid, start time
};

}  // namespace ddpscope::commands
