// ddpscope: reads the command line, runs the command, prints its errors.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "collector/commands/command.h"
#include "collector/commands/manual.h"
#include "collector/commands/say.h"
#include "collector/reports/escape.h"
#include "ddpscope_version.h"

namespace {

namespace commands = ddpscope::commands;

void print(const ddpscope::Error& error, const char* kind = "error") {
  using ddpscope::reports::escape;
  std::string where = error.where.empty() ? "" : escape(error.where) + ": ";
  commands::say("{}: {}{}\n", kind, where, escape(error.what));
  if (!error.hint.empty()) commands::say("hint: {}\n", escape(error.hint));
}

int finish(const commands::Outcome& outcome) {
  for (const ddpscope::Error& told : outcome.warnings) print(told, "warning");
  std::size_t shown = std::min(outcome.errors.size(), commands::kErrorsShown);
  for (std::size_t i = 0; i < shown; ++i) print(outcome.errors[i]);
  if (outcome.errors.size() > shown) print({fmt::format("{} more", outcome.errors.size() - shown), "", ""});
  return outcome.code;
}

// Without them a trace that is opened would become standard output. They stay closed for the job, and writing
// to them fails.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// What was printed and did not arrive is no result. `error`: an errno, or 0.
int output_lost(int error) {
  std::string why = error ? std::string(": ") + std::strerror(error) : "";
  return finish(commands::failed({"cannot write to standard output" + why, "", ""}));
}

int flush_output(int code) {
  errno = 0;
  return std::fflush(stdout) == 0 && !std::ferror(stdout) ? code : output_lost(errno);
}

bool is_command(std::string_view name) {
  auto all = commands::all_commands();
  return name == "manual" || std::any_of(all.begin(), all.end(), [&](const commands::Command& command) {
           return command.name == name;
         });
}

commands::Outcome no_such_command(const std::string& name) {
  return commands::failed({"there is no command '" + name + "'", "", "`ddpscope --help` shows the commands"});
}

int run(int argc, char** argv) {
  CLI::App app("Finds the bugs of distributed training jobs from outside the program.", "ddpscope");
  app.set_version_flag("--version", DDPSCOPE_VERSION_TEXT);
  app.require_subcommand(1);
  commands::Action action;
  for (const commands::Command& command : commands::all_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.sentence);
    commands::Action own = command.declare(*sub);
    sub->callback([&action, own] { action = own; });
  }
  // For the installation: no command of a user's, and not shown.
  CLI::App* manual =
      app.add_subcommand("manual", "print the man page, bash's completion, or the table of findings")
          ->group("");
  std::string kind;
  manual->add_option("KIND", kind)->required()->check(CLI::IsMember({"man", "bash", "findings"}));
  manual->callback([&] {
    action = [&] {
      std::string text = kind == "man"    ? commands::man_page(app)
                         : kind == "bash" ? commands::bash_completion(app)
                                          : commands::findings_table();
      fmt::print("{}", text);
      return commands::Outcome{};
    };
  });
  bool option = argc > 1 && argv[1][0] == '-';
  if (argc > 1 && !option && !is_command(argv[1])) return finish(no_such_command(argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return finish(commands::failed(
        {error.what(), "", "`ddpscope --help` shows the commands, `ddpscope COMMAND --help` their options"}));
  }
  return finish(action());
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  try {
    return flush_output(run(argc, argv));
  } catch (const std::bad_alloc&) {
    return finish(commands::failed({"out of memory", "", "analyse the trace on a machine that has more"}));
  } catch (const std::exception& error) {
    auto lost = dynamic_cast<const std::system_error*>(&error);  // fmt's, of what it printed
    if (std::ferror(stdout)) return output_lost(lost ? lost->code().value() : 0);
    return finish(commands::failed({error.what(), "", ""}));
  }
}
