// What this machine says of a job's processes, beside their trace. Only looks: /proc, never the process.
#pragma once
#include <cstdint>
#include <string>

#include "collector/model/job.h"

namespace ddpscope::live {

struct Seen {
  model::Life life = model::Life::kNotAsked;
  std::int64_t cpu_ns = 0;  // that all its threads have used
};

// kNotAsked if it is of another host, kGone if none with this pid and start time is here.
Seen see(const trace::FileHeader& header, std::uint64_t host_id);

// What a thread is inside of in the kernel, at this moment.
enum class Doing : std::uint8_t {
  kUnknown,       // not allowed to ask, or not to be told
  kRuns,          // in no system call
  kAwaitsThread,  // futex: a lock, a condition variable, a semaphore of one process
  kInside,        // any other system call
};
struct Inside {
  Doing doing = Doing::kUnknown;
  std::string what;  // "clock_nanosleep", "read of /data/samples.pipe"; only of kInside
};
Inside look_inside(std::int32_t pid, std::int32_t tid);
std::string to_text(const Inside& inside);  // "is inside clock_nanosleep"; empty if kUnknown

}  // namespace ddpscope::live
