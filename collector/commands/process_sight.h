// What of a process decides whether it is recorded, seen from outside: /proc alone, nothing is asked of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ddpscope::commands {

// What a process has to have to be recorded.
struct RecordingNeeds {
  std::string library;  // as LD_PRELOAD names it
  std::filesystem::path folder;
};

enum class Obstacle {
  kNone,
  kNoPreload,         // no LD_PRELOAD in its environment
  kOtherPreload,      // one without our library
  kNoTrace,           // no DDPSCOPE_TRACE
  kDisabled,          // DDPSCOPE_DISABLE
  kProgram,           // static, of 32 bits, of musl, setuid
  kNotLoaded,         // its dynamic linker had the time, and did not
  kNoLibrary,         // not below its root
  kNoFolder,          // the same of the folder for the trace
  kOtherFolder,       // below its root another one has that name
  kReadOnlyFolder,    // where it runs
  kForbiddenLibrary,  // its user cannot read it
  kForbiddenFolder,   // its user cannot write there
  kHidden,            // we may not look
};

struct ProcessSight {
  std::string program;  // path of the file that it runs
  std::string name;     // as the kernel calls it, 15 letters at most
  std::int32_t parent;
  std::uint64_t cpu_ticks;
  std::uint32_t user;
  Obstacle obstacle;
  std::string unloadable;  // "PROGRAM (PID) is linked statically", with Obstacle::kProgram
  bool loaded;             // the library is mapped
};

// Never kNotLoaded. Nothing where the process has ended, or is about to become another program. `was_loaded`:
// the program with which it had the library when it was last seen, which saves most of the work.
std::optional<ProcessSight> see_process(std::int32_t pid, const RecordingNeeds& needs,
                                        const std::string& was_loaded);

std::string name_of_process(std::int32_t pid);  // as the kernel calls it; "?": it is gone

// Its children, of all its threads. None where the kernel does not list them (CONFIG_PROC_CHILDREN).
std::vector<std::int32_t> children_of(std::int32_t pid);

}  // namespace ddpscope::commands
