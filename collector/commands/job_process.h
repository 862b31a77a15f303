// The job as a child process: started with an environment, given our signals, waited for.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/commands/job_sight.h"
#include "collector/commands/process_watch.h"
#include "trace/result.h"

namespace ddpscope::commands {

struct JobStart {
  std::vector<std::string> command;
  std::map<std::string, std::string> changed;  // on top of our environment
  std::optional<std::chrono::seconds> rest{};  // how long to wait for what the command leaves running
};

// Runs the command and returns its exit code, 128 + n after a signal n. The job stays in our process group;
// signals sent to us alone are passed on (those of a terminal reach the whole group anyway). `watch` is
// served meanwhile, and until what the command left running has ended (wait_for_rest.h); `sight` looks while
// the command runs, until it is recorded. `ended` gets the
// exit code before signals can end us again. Error: the command cannot be started.
Result<int> run_job(const JobStart& start, ProcessWatch& watch, JobSight& sight,
                    const std::function<void(int)>& ended);

}  // namespace ddpscope::commands
