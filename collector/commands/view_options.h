// What `ddpscope view` and `ddpscope-viewer`, the program behind it, are told: declared once, so that help,
// man page and completion of both are the same.
#pragma once
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace ddpscope::commands {

// As they were typed; empty: not given.
struct ViewOptions {
  std::string trace, other, go_to, screenshot, size, theme, from, to;
  float scale = 1;
  bool bench = false, whole_run = false, reduced_motion = false;
};
void declare_view_options(CLI::App& app, ViewOptions& options);

// The words of a command line that gives what `app` has read.
std::vector<std::string> words_of(const CLI::App& app);

}  // namespace ddpscope::commands
