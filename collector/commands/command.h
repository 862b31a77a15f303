// What a command of `ddpscope` is: a name, a sentence, and a function that declares its options and returns
// what to do once they are read.
#pragma once
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trace/result.h"

namespace ddpscope::commands {

constexpr int kNothingFound = 0;
constexpr int kFindings = 1;
constexpr int kCannotRun = 2;

// Of a thousand damaged files the first few say what is wrong; the report's coverage names all.
constexpr std::size_t kErrorsShown = 8;

// main prints the errors and exits with the code.
struct Outcome {
  int code = kNothingFound;
  std::vector<Error> errors;
  std::vector<Error> warnings{};  // change nothing about the code
};
Outcome failed(Error error);
Outcome not_in_this_version(const std::string& what);

// What of a trace a command is about.
struct TraceOptions {
  std::string trace;
  std::int32_t attempt = -1;  // the last
};
void declare_trace(CLI::App& app, TraceOptions& options);

using Action = std::function<Outcome()>;

struct Command {
  const char* name;
  const char* sentence;
  Action (*declare)(CLI::App& app);
};

std::span<const Command> all_commands();

Action declare_run(CLI::App& app);
Action declare_report(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_info(CLI::App& app);
Action declare_dump(CLI::App& app);
Action declare_diff(CLI::App& app);
Action declare_status(CLI::App& app);
Action declare_export(CLI::App& app);
Action declare_view(CLI::App& app);

}  // namespace ddpscope::commands
