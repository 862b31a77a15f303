// Which process on which host a trace file is about.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

// Who writes: fills the header and names the file. Fixed for the life of the process.
struct Identity {
  std::uint64_t host_id;
  char host[64];
  std::int32_t pid;
  std::int32_t parent_pid;
  std::uint64_t start_time;         // clock ticks since boot
  std::uint64_t parent_start_time;  // 0 if unknown
  std::uint64_t pid_namespace;      // inode of /proc/self/ns/pid; 0 if unknown
};

// Of this process, from /proc and uname, by raw system calls.
Identity read_identity();

// When a process of this host started, in clock ticks since boot; 0 if there is none with this pid.
std::uint64_t start_time_of(std::int32_t pid);

}  // namespace ddpscope::trace
