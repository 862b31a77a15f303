// Writes with SIGPIPE held back. It cannot be ignored instead: the job would inherit that.
#include "collector/commands/say.h"

#include <csignal>
#include <cstdio>
#include <ctime>

namespace ddpscope::commands {

void write_to_stderr(std::string_view text) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  std::fwrite(text.data(), 1, text.size(), stderr);
  timespec none{};
  if (!sigismember(&before, SIGPIPE)) sigtimedwait(&pipe, nullptr, &none);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace ddpscope::commands
