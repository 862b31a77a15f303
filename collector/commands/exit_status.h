// How a process of somebody else's ended.
#pragma once
#include <cstdint>

namespace ddpscope::commands {

// Of the process behind `pidfd`, which has ended: its exit code, or 128 and the number of the signal that
// ended it. From /proc/PID/stat (proc(5), exit_code) as long as its parent has not awaited it, which may be
// shown to its own user only; after that from the pidfd itself, since Linux 6.15 (PIDFD_GET_INFO). 0 also if
// neither tells.
std::int32_t status_of(int pidfd, std::int32_t pid, std::uint64_t start_time);

}  // namespace ddpscope::commands
