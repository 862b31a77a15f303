// One line, rewritten twice a second.
#include "collector/commands/terminal_progress.h"

#include <unistd.h>

#include <chrono>

#include "collector/commands/say.h"

namespace ddpscope::commands {

TerminalProgress::TerminalProgress() {
  if (isatty(STDERR_FILENO)) thread_ = std::jthread([this](std::stop_token stop) { show(std::move(stop)); });
}

TerminalProgress::~TerminalProgress() = default;

void TerminalProgress::at(const char* stage, std::uint64_t done, std::uint64_t all) {
  std::lock_guard lock(mutex_);
  stage_ = stage;
  done_ = done;
  all_ = all;
}

void TerminalProgress::show(std::stop_token stop) {
  using std::chrono_literals::operator""s, std::chrono_literals::operator""ms;
  std::unique_lock lock(mutex_);
  auto ended_within = [&](auto time) {
    stopped_.wait_for(lock, stop, time, [] { return false; });
    return stop.stop_requested();
  };
  if (ended_within(1s)) return;
  do {
    std::string share = all_ > 1 ? fmt::format(" {}/{}", done_, all_) : "";
    say("\r\x1b[Kddpscope: {}{}", stage_, share);
  } while (!ended_within(500ms));
  say("\r\x1b[K");
}

Result<reading::Reading> read_with_progress(const TraceOptions& options) {
  TerminalProgress progress;
  return reading::read_trace(options.trace, progress, options.attempt);
}

}  // namespace ddpscope::commands
