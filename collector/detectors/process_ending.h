// How a process ended, in words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "collector/model/job.h"

namespace ddpscope::detectors {

// A program that a signal ends by its handler says so by this and the signal's number, as shells do.
constexpr std::int32_t kEndedBySignal = 128;
// Who kills a job kills one rank after the other: within this time of the first the last may still notice.
constexpr std::int64_t kKilledTogether = 1'000'000'000;

struct ProcessEnding {
  // "exited with 1 at train.py:88 main (RuntimeError)", "was ended by signal 9 (SIGKILL), after
  // train.py:80 step"; empty: no end of its own was recorded, and nobody told of a signal.
  std::string sentence;
  // What says so: the traceback that it ended of, its exit, or without one in the program its last call
  // there.
  std::optional<model::EventRef> event;
  bool traceback = false;  // it is a traceback
  std::string key{};       // as findings' keys are
};

// An exit has its place in the program if Python's or native frames of it were still there (os._exit, abort,
// exit in C++), or if the main thread printed a traceback and did nothing after it that a job goes on with.
// sys.exit leaves neither: its exception has unwound the stack by the time the process exits.
// Whom a signal ended, or abort() on a thread of a library, and who left with 0, has the place of the last
// recorded call of the main thread that stands in the program, told as what it ended after.
ProcessEnding find_ending(const model::Job& job, std::uint32_t process);

// "train.py:80 step": the last recorded call of the main thread that stands in the program; empty without
// one. And ", after train.py:80 step".
std::string place_of_last_call(const model::Job& job, std::uint32_t process);
std::string after_last_call(const model::Job& job, std::uint32_t process);

// The signal that ended the process, if `ddpscope run` saw it, or whoever awaited it recorded that.
std::optional<int> find_signal(const model::Job& job, const model::Process& gone);
// Sent to end a job: by users, launchers, schedulers.
bool is_for_ending_jobs(int signal);
// Of its own doing: the place where it ends a program says something of the program.
bool is_of_its_own(int signal);
// "signal 9 (SIGKILL)"
std::string text_of_signal(int signal);
// What is known of the kernel's out-of-memory killer, behind a semicolon, where SIGKILL ended the process.
std::string text_of_memory(const model::Process& gone, int signal);

}  // namespace ddpscope::detectors
