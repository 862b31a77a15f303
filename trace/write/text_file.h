// Small files of /proc and the text they are named by: no hook of ours sees the system calls, nothing is
// allocated.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::trace {

// Up to `bytes` of a file in one piece, terminated by 0; how many they are, 0 if it cannot be read.
std::size_t read_text(const char* path, char* out, std::size_t bytes);

// "/proc/PID/FILE", of a file whose name has 16 letters at most.
class ProcPath {
 public:
  ProcPath(std::int32_t pid, const char* file);
  const char* text() const { return text_; }

 private:
  char text_[48];
};

// Writes the number in decimal so that its terminating 0 stands before `end`; returns where it starts.
char* format_number(char* end, std::uint64_t number);

}  // namespace ddpscope::trace
