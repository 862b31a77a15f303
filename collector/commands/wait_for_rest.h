// What of a job runs on when its command has ended: ranks whose launcher was killed, or did not wait for
// them.
#pragma once
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "collector/commands/process_watch.h"

namespace ddpscope::commands {

struct RestWait {
  int signals;                               // signalfd of what is sent to us
  sigset_t& passed_on;                       // what was, and what ends the wait is added
  int exit_code;                             // of the command
  std::optional<std::chrono::seconds> most;  // as the user has it
};

// Until the recorded processes of this run have ended, or a signal that ends jobs comes. By default ten
// seconds at most, two if the command ended with 0 and nobody had sent it a signal: its launcher saw its
// ranks end, and what is left may be a service that is meant to stay. Says after a second whom it waits for.
void wait_for_rest(ProcessWatch& watch, const RestWait& wait);

std::string to_text(
    const std::vector<RunningProcess>& processes);  // "train (4711), python3 (4712) and 3 more"

}  // namespace ddpscope::commands
