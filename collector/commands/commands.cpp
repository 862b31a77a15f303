// All commands, listed by hand.
#include "collector/commands/command.h"

#include <cstdint>
#include <limits>

namespace ddpscope::commands {
namespace {

constexpr Command kCommands[] = {
    {"run", "run a job and record it", declare_run},
    {"report", "name what is wrong with a recorded job", declare_report},
    {"explain", "explain a finding", declare_explain},
    {"info", "what a trace holds, and what it lacks", declare_info},
    {"dump", "print every record of a trace", declare_dump},
    {"diff", "what differs between two versions of a job, and what of it is a regression", declare_diff},
    {"status", "who waits for whom in a job that runs", declare_status},
    {"export", "write a trace as one file of another kind", declare_export},
    {"view", "show the time lines of all ranks, and the findings on them", declare_view},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

void declare_trace(CLI::App& app, TraceOptions& options) {
  app.add_option("TRACE", options.trace,
                 "folder that `ddpscope run -o` filled, one file of it, or a merged file")
      ->type_name("")
      ->required();
  app.add_option("--attempt", options.attempt, "which attempt of a job that was started again; else the last")
      ->type_name("N")
      ->check(CLI::Range(0, std::numeric_limits<std::int32_t>::max()).description(""));
}

Outcome failed(Error error) { return {kCannotRun, {std::move(error)}}; }

Outcome not_in_this_version(const std::string& what) {
  return failed({what + ": not in this version", "", "`ddpscope --help` lists what is"});
}

}  // namespace ddpscope::commands
