// A thread that takes no signals: they are the job's.
#include "collector/commands/hang_watch.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "collector/commands/say.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

using std::chrono::steady_clock;
using Duration = steady_clock::duration;

constexpr Duration kLeast = std::chrono::seconds(1);
constexpr Duration kMost = std::chrono::seconds(2);
constexpr int kShare = 50;  // of the time between two looks one may compute

Duration computed() {  // by this thread
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

bool sleep_for(Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

std::vector<std::string> environment_with(const std::string& trace, const std::string& finding) {
  std::vector<std::string> words{"DDPSCOPE_TRACE=" + trace, "DDPSCOPE_FINDING=" + finding};
  for (char** word = environ; *word; ++word) {
    std::string_view text = *word;
    if (!text.starts_with("DDPSCOPE_TRACE=") && !text.starts_with("DDPSCOPE_FINDING="))
      words.emplace_back(text);
  }
  return words;
}

// -1: errno in `error`.
pid_t start_shell(const std::string& command, std::vector<std::string> environment, int& error) {
  std::vector<char*> variables;
  for (std::string& word : environment) variables.push_back(word.data());
  variables.push_back(nullptr);
  std::string shell = "/bin/sh", option = "-c", text = command;
  char* words[] = {shell.data(), option.data(), text.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  error = ::posix_spawn(&pid, shell.c_str(), nullptr, &attributes, words, variables.data());
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
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HangWatch::~HangWatch() = default;

void HangWatch::watch(const std::stop_token& stop) const {
  trace::Identity here = trace::read_identity();
  std::optional<live::Look> earlier;
  std::optional<std::set<std::string>> known;  // none as long as another run looks
  Duration pause = kLeast;
  while (sleep_for(pause, stop)) {
    if (!use_.takes_watch()) continue;
    if (!known) known = lines_of(use_.read_note());
    Duration before = computed();
    auto look = live::look_at(folder_, here, earlier ? &*earlier : nullptr);
    pause = std::clamp<Duration>((computed() - before) * kShare, kLeast, kMost);
    if (!look) continue;  // nothing is recorded yet
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
  pid_t pid =
      start_shell(command_, environment_with(folder_.string(), reports::json_finding(finding)), error);
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
