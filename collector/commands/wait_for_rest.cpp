// poll() on the ends of processes and on signals, until one of them or the clock ends it.
#include "collector/commands/wait_for_rest.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "collector/commands/say.h"
#include "collector/reports/escape.h"

namespace ddpscope::commands {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAfterFailure{10}, kAfterSuccess{2};
constexpr std::chrono::seconds kQuiet{1};      // before it says whom it waits for
constexpr std::chrono::seconds kSentTwice{1};  // `timeout` sends its signal to us and to our group
constexpr std::size_t kMostNamed = 4;

constexpr int kEndJobs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

bool ends_jobs(int signal) {
  return std::find(std::begin(kEndJobs), std::end(kEndJobs), signal) != std::end(kEndJobs);
}

bool was_sent_to_end(const sigset_t& passed_on) {
  return std::any_of(std::begin(kEndJobs), std::end(kEndJobs),
                     [&](int signal) { return sigismember(&passed_on, signal) == 1; });
}

std::chrono::seconds most_of(const RestWait& wait) {
  if (wait.most) return *wait.most;
  return wait.exit_code == 0 && !was_sent_to_end(wait.passed_on) ? kAfterSuccess : kAfterFailure;
}

void say_who_runs(const std::vector<RunningProcess>& rest, std::chrono::seconds most) {
  bool one = rest.size() == 1;
  say("ddpscope: the command has ended, and {} process{} of the job still run{}: {}. Waits for {} up to {} s "
      "(--wait); Ctrl-C ends the wait\n",
      rest.size(), one ? "" : "es", one ? "s" : "", to_text(rest), one ? "it" : "them", most.count());
}

// True: the wait is over.
bool take_signal(ProcessWatch& watch, const RestWait& wait, Clock::time_point began) {
  signalfd_siginfo info{};
  if (read(wait.signals, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return false;
  auto signal = static_cast<int>(info.ssi_signo);
  const bool of_terminal = info.ssi_code == SI_KERNEL;  // which has sent it to the whole group
  if (signal == SIGTSTP) raise(SIGSTOP);
  if (!ends_jobs(signal)) return false;
  if (signal == SIGQUIT) raise(signal);  // blocked now: it ends us once what was seen is written
  if (of_terminal) watch.note_signal(signal, static_cast<std::int32_t>(info.ssi_pid));
  bool again = sigismember(&wait.passed_on, signal) == 1 && Clock::now() < began + kSentTwice;
  sigaddset(&wait.passed_on, signal);
  return of_terminal || !again;
}

int milliseconds_until(Clock::time_point moment) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace

void wait_for_rest(ProcessWatch& watch, const RestWait& wait) {
  const std::chrono::seconds most = most_of(wait);
  const Clock::time_point began = Clock::now(), until = began + most;
  bool said = false;
  for (;;) {
    std::vector<RunningProcess> rest = watch.running();
    if (rest.empty() || Clock::now() >= until) return;
    if (!said && Clock::now() >= began + kQuiet) {
      say_who_runs(rest, most);
      said = true;
    }
    pollfd ready[] = {{wait.signals, POLLIN, 0}, {watch.fd(), POLLIN, 0}};
    poll(ready, 2, milliseconds_until(said ? until : std::min(until, began + kQuiet)));
    if (ready[0].revents && take_signal(watch, wait, began)) return;
  }
}

std::string to_text(const std::vector<RunningProcess>& processes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(processes.size(), kMostNamed); ++i)
    text += fmt::format("{}{} ({})", i ? ", " : "", reports::escape(processes[i].name), processes[i].pid);
  if (processes.size() > kMostNamed) text += fmt::format(" and {} more", processes.size() - kMostNamed);
  return text;
}

}  // namespace ddpscope::commands
