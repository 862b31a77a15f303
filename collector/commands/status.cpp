// ddpscope status: who waits for whom in a job that runs, without stopping it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "collector/commands/command.h"
#include "collector/commands/folder_use.h"
#include "collector/commands/say.h"
#include "collector/commands/status_text.h"
#include "collector/commands/write_back.h"
#include "collector/live/look.h"
#include "collector/reading/read_trace.h"
#include "collector/reports/escape.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

struct StatusOptions {
  std::string trace;
  bool follow = false;
};

Outcome outcome_of(const live::Look& look) {
  Outcome outcome{look.condition == live::Condition::kStuck ? kFindings : kNothingFound, {}};
  for (std::size_t i = 0; i < std::min(look.errors.size(), kErrorsShown); ++i)
    outcome.warnings.push_back(look.errors[i]);
  return outcome;
}

Outcome once(const StatusOptions& options, const trace::Identity& here) {
  FolderLook question(options.trace);
  question.ask();
  if (may_be_late(options.trace)) std::this_thread::sleep_for(2 * kAskedEach);  // seen, and written back
  auto look = live::look_twice(options.trace, here);
  if (!look) return failed(look.error());
  fmt::print("{}", status_text(*look));
  return outcome_of(*look);
}

void show_in_place(const std::string& text, std::size_t lines_before) {
  if (lines_before) fmt::print("\x1b[{}A\x1b[J", lines_before);
  fmt::print("{}", text);
  std::fflush(stdout);
}

// The folder is there, and `run` has made it for a job whose first process makes its trace at its first
// recorded call. Says so once, and sleeps for a while.
bool is_yet_to_begin(const std::string& trace, bool& told) {
  std::error_code none;
  if (!std::filesystem::is_directory(trace, none) || reading::count_traces(trace) > 0) return false;
  if (!std::exchange(told, true))
    say("ddpscope: {}: no trace yet; waiting for one\n", reports::escape(trace));
  constexpr auto kBetween = std::chrono::milliseconds(200);
  std::this_thread::sleep_for(kBetween);
  return true;
}

// Until the job has ended; what is no terminal gets what changes.
Outcome follow(const StatusOptions& options, const trace::Identity& here) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  std::optional<live::Look> earlier;
  std::string shown;
  std::size_t lines = 0;
  bool waiting = false;
  FolderLook question(options.trace);
  for (;;) {
    question.ask();
    auto look = live::look_at(options.trace, here, earlier ? &*earlier : nullptr);
    if (!look && !earlier && is_yet_to_begin(options.trace, waiting)) continue;
    if (!look) return failed(look.error());
    std::string text = status_text(*look), now = gist(*look);
    if (terminal) {
      show_in_place(text, lines);
      lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    } else if (now != shown) {
      fmt::print("{:.1f} s {}", static_cast<double>(look->now_ns) * 1e-9, text);
      if (std::fflush(stdout) != 0) return failed({"cannot write to standard output", "", ""});
    }
    shown = std::move(now);
    // A launcher may start the ranks anew.
    if (look->condition == live::Condition::kEnded && !FolderUse::is_in_use(options.trace))
      return outcome_of(*look);
    earlier = std::move(*look);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

Action declare_status(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  app.add_option("TRACE", options->trace, "the folder that `ddpscope run` records into")
      ->type_name("")
      ->required();
  app.add_flag("--follow", options->follow, "go on until the job ends, and tell what changes");
  return [options] {
    trace::Identity here = trace::read_identity();
    return options->follow ? follow(*options, here) : once(*options, here);
  };
}

}  // namespace ddpscope::commands
