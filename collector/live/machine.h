// What this machine says of a job's processes, beside their trace. Only looks: /proc, never the process.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "collector/model/job.h"
#include "trace/write/identity.h"

namespace ddpscope::live {

// Of a process that lives, and of those that it has made, theirs and so on.
struct Activity {
  std::int64_t cpu_ns = 0;  // that all their threads have used
  bool runs = false;        // one of these threads at least has a processor, or waits for one
};

// Of a clock of std::chrono, since its epoch: steady_clock is CLOCK_MONOTONIC, system_clock CLOCK_REALTIME.
template <class Clock>
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// kNotAsked if it is of another host, or of a namespace of pids other than ours; kGone if none with this pid
// and start time is here.
model::Life see(const trace::FileHeader& header, const trace::Identity& here);
Activity activity_of(std::int32_t pid);

// What the reads and writes of a thread have moved so far, in bytes, and the pages that its process had to
// wait for (of mapped files). Reads of a file one after the other are one record, whose begin says nothing of
// the latest. 0 if the machine does not say.
std::uint64_t moved_bytes(std::int32_t pid, std::int32_t tid);
// Between two looks: a page at least. Who asks a queue or a flag again and again moves a few bytes.
constexpr std::uint64_t kLeastMoved = 4096;

// For how long each thread of a process has been ready to run without a processor so far, by its id. Empty if
// the machine does not say.
std::map<std::int32_t, std::uint64_t> processor_waits(std::int32_t pid);

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
// As `ddpscope run` keeps it in a trace: "futex", "read of /data/a.bin", nothing while it runs.
std::string to_place(const Inside& inside);
constexpr const char* kStoppedPlace = "a stop by a signal";
std::string to_text(const Inside& inside);  // "is inside clock_nanosleep"; empty if kUnknown

}  // namespace ddpscope::live
