// Compares what each look finds with what the look before it told.
#include "collector/commands/hang_watch.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "collector/commands/exec_words.h"
#include "collector/commands/say.h"
#include "collector/commands/watch_thread.h"
#include "collector/reading/read_trace.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

using Duration = std::chrono::nanoseconds;

constexpr Duration kMost = std::chrono::seconds(2);
constexpr int kShare = 50;  // of the time between two looks one may compute

// -1: errno in `error`.
pid_t start_shell(const std::string& command, std::vector<std::string> environment, int& error) {
  std::string shell = "/bin/sh", option = "-c", text = command;
  char* words[] = {shell.data(), option.data(), text.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  error = ::posix_spawn(&pid, shell.c_str(), nullptr, &attributes, words, exec_words(environment).data());
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -1;
}

// Ranks and place tell one stall from another. One line.
std::string name_of(const findings::Finding& finding) {
  return reports::escape(fmt::format("{} {}", finding.key, fmt::join(finding.ranks, " ")));
}

std::set<std::string> lines_of(const std::string& text) {
  std::istringstream lines(text);
  std::set<std::string> found;
  for (std::string line; std::getline(lines, line);) found.insert(line);
  return found;
}

}  // namespace

HangWatch::HangWatch(std::filesystem::path folder, const FolderUse& use, std::string command)
    : folder_(std::move(folder)), use_(use), command_(std::move(command)) {
  if (command_.empty()) return;
  thread_ = start_watch_thread([this](const std::stop_token& stop) { watch(stop); });
}

HangWatch::~HangWatch() = default;

void HangWatch::watch(const std::stop_token& stop) const {
  trace::Identity here = trace::read_identity();
  std::optional<live::Look> earlier;
  std::optional<std::set<std::string>> known;  // none as long as another run looks
  FolderLook others(folder_);  // of other hosts may be late: asked for as long as some rank waits
  bool told_why_not = false;
  Duration pause = pause_after({}, kShare, kMost);
  while (sleep_for(pause, stop)) {
    if (!use_.takes_watch()) continue;
    if (!known) known = lines_of(use_.read_note());
    Duration before = computed();
    auto look = live::look_at(folder_, here, earlier ? &*earlier : nullptr);
    pause = pause_after(computed() - before, kShare, kMost);
    if (!look) {
      if (reading::count_traces(folder_) > 0 && !std::exchange(told_why_not, true))
        say("ddpscope: nobody looks for hangs: {}\n", reports::escape(look.error().what));
      continue;
    }
    look->stalls.empty() || look->unseen.empty() ? others.stop() : others.ask();
    std::set<std::string> now;
    std::vector<const findings::Finding*> untold;
    for (const live::Stall& stall : look->stalls) {
      bool was_told =
          known->contains(name_of(stall.finding));  // while it lasts: a sign of life does not end it
      if (!stall.stuck && !was_told) continue;
      now.insert(name_of(stall.finding));
      if (!was_told) untold.push_back(&stall.finding);
    }
    if (now != *known) use_.write_note(fmt::format("{}\n", fmt::join(now, "\n")));
    for (const findings::Finding* finding : untold) run_for(*finding, stop);
    known = std::move(now);
    earlier = std::move(*look);
  }
}

void HangWatch::run_for(const findings::Finding& finding, const std::stop_token& stop) const {
  say("ddpscope: stuck: {}; running the command of --on-hang\n", reports::escape(finding.title));
  int error = 0;
  pid_t pid = start_shell(command_,
                          environment_with({{"DDPSCOPE_TRACE", folder_.string()},
                                            {"DDPSCOPE_FINDING", reports::json_finding(finding)}}),
                          error);
  if (pid < 0) return say("ddpscope: the command of --on-hang cannot be started: {}\n", std::strerror(error));
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid, &status, WNOHANG);
  } while (ended == 0 && sleep_for(std::chrono::milliseconds(100), stop));
  if (ended != pid) return;
  if (WIFSIGNALED(status))
    say("ddpscope: the command of --on-hang was ended by signal {}\n", WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    say("ddpscope: the command of --on-hang ended with exit code {}\n", WEXITSTATUS(status));
}

}  // namespace ddpscope::commands
