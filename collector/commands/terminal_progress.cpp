// One line, rewritten ten times a second at most.
#include "collector/commands/terminal_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace ddpscope::commands {

TerminalProgress::TerminalProgress()
    : terminal_(isatty(STDERR_FILENO)), next_(Clock::now() + std::chrono::seconds(1)) {}

TerminalProgress::~TerminalProgress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void TerminalProgress::at(const char* stage, std::uint64_t done, std::uint64_t all) {
  if (!terminal_ || Clock::now() < next_) return;
  shown_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  fmt::print(stderr, "\r\x1b[K{} {}/{}", stage, done, all);
  std::fflush(stderr);
}

}  // namespace ddpscope::commands
