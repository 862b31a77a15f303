// What payload::Exchange says of an object: the space of its id. POSIX queues have that of their file
// system's device.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

constexpr std::uint64_t kSystemVQueue = 1;
constexpr std::uint64_t kSystemVSemaphores = 2;
constexpr std::uint64_t kSystemVMemory = 3;
constexpr std::uint64_t kEventDescriptor = 4;  // id as in /proc/PID/fdinfo; 0: a kernel that does not tell it
constexpr std::uint64_t kNotices = 5;
constexpr std::uint64_t kAnonymousMemory = 6;      // of one process, and of those that it forks
constexpr std::uint64_t kPosixQueue = 1ull << 32;  // and the device; id is the inode

}  // namespace ddpscope::trace
