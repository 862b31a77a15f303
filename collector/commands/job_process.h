// The job as a child process: started with an environment, given our signals, waited for.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collector/commands/process_watch.h"
#include "trace/result.h"

namespace ddpscope::commands {

// Runs `command` with `changed` on top of our environment and returns its exit code, 128 + n after a signal
// n. The job stays in our process group; signals sent to us alone are passed on (those of a terminal reach
// the whole group anyway). `watch` is served meanwhile. `ended` gets the exit code before signals can end us
// again. Does not wait for what the job leaves running.
// Error: the command cannot be started.
Result<int> run_job(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& changed, ProcessWatch& watch,
                    const std::function<void(int)>& ended);

}  // namespace ddpscope::commands
