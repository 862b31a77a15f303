// What /proc tells of a process, by raw system calls: readable inside the guest.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

// Fields of /proc/PID/stat as proc(5) numbers them, from 3. The name, field 2, may hold blanks and brackets.
class ProcessStat {
 public:
  static constexpr int kParentPid = 4;
  static constexpr int kFaultsOfChildren = 11;  // minor ones, of children that it has waited for
  static constexpr int kMajorFaults = 12;       // pages that had to be read, of all its threads
  static constexpr int kUserTime = 14;          // clock ticks, of all its threads
  static constexpr int kSystemTime = 15;        // likewise
  static constexpr int kStartTime = 22;         // clock ticks since boot
  static constexpr int kEnvironmentEnd = 51;    // address; 0 also unless the reader may trace the process
  static constexpr int kExitCode = 52;  // as waitpid() gives it; 0 unless the reader may trace the process

  explicit ProcessStat(std::int32_t pid);

  char state() const { return *at(kState); }  // a letter; 0: there is no such process
  // Its parent has not taken its status yet (Z), or is about to (X).
  bool is_dead() const { return state() == 'Z' || state() == 'X'; }
  std::uint64_t field(int number) const;  // 0 if it is not there

 private:
  static constexpr int kState = 3;

  const char* at(int number) const;

  char text_[1024];
  const char* after_name_;
};

}  // namespace ddpscope::trace
