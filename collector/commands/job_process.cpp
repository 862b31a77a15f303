// fork, exec, signals, wait.
#include "collector/commands/job_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "collector/commands/wait_for_rest.h"

namespace ddpscope::commands {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

// How we were started, which is how the job has to start.
struct Inherited {
  sigset_t mask;
  struct sigaction child_ended;
};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Whoever starts us with SIGCHLD ignored must not cost us the job's exit code.
Inherited take_signals(const sigset_t& handled) {
  Inherited inherited{};
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &default_action, &inherited.child_ended);
  sigprocmask(SIG_BLOCK, &handled, &inherited.mask);
  return inherited;
}

void give_back(const Inherited& inherited) {
  sigaction(SIGCHLD, &inherited.child_ended, nullptr);
  sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

// Who ends a job may send its signal twice, to us and to our group (`timeout` does): the second one, which
// may come when the job is over, must not cost the summary. A second Ctrl-C does.
void keep_passed_on(Inherited& inherited, const sigset_t& passed_on) {
  for (int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    if (sigismember(&passed_on, signal) == 1) sigaddset(&inherited.mask, signal);
}

// `failure` closes itself when exec succeeds and carries errno when it fails.
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::map<std::string, std::string>& changed, const Inherited& inherited,
                         int failure) {
  for (const auto& [name, value] : changed) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  give_back(inherited);
  execvp(words[0], words.data());
  int error = errno;
  [[maybe_unused]] ssize_t written = write(failure, &error, sizeof(error));
  _exit(127);
}

Error cannot_start(const std::string& command, int error) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  bool path = command.find('/') != std::string::npos;
  if (command.empty()) return {"cannot start the command: its name is empty", "", "name the job after --"};
  if (path && fs::is_directory(command, ignored))
    return {"cannot start the command: it is a folder", command, "name the program in it"};
  if (error == ENOENT && path && fs::exists(command, ignored))
    return {"cannot start the command: the interpreter that it names does not exist", command,
            "look at its first line (#!), or for a binary at `readelf -l`"};
  if (error == ENOENT)
    return {"cannot start the command: there is no such command", command,
            path ? "check its spelling" : "check its spelling and PATH"};
  const char* hint = error == EACCES ? "make it executable: chmod +x" : "";
  return {std::string("cannot start the command: ") + std::strerror(error), command, hint};
}

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// A shell that stops the job waits for us to stop. Not after a SIGSTOP: who sends that to the job alone will
// wake the job alone.
void stop_like(int signal) {
  if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) raise(SIGSTOP);
}

void forward_signal(pid_t job, int signals, ProcessWatch& watch, sigset_t& passed_on) {
  signalfd_siginfo info{};
  if (read(signals, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return;
  auto signal = static_cast<int>(info.ssi_signo);
  sigaddset(&passed_on, signal);
  if (signal != SIGCHLD) watch.note_signal(signal, static_cast<std::int32_t>(info.ssi_pid));
  // SI_KERNEL: the terminal has sent it to the whole group, the job too.
  if (signal != SIGCHLD && info.ssi_code != SI_KERNEL) kill(job, signal);
}

// -1: at no time.
int milliseconds_until_look(const JobSight& sight) {
  using std::chrono::milliseconds;
  if (sight.next() == JobSight::Clock::time_point::max()) return -1;
  auto left = std::chrono::ceil<milliseconds>(sight.next() - JobSight::Clock::now());
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

// Until the next look is due, at most.
void serve(pid_t job, int signals, ProcessWatch& watch, JobSight& sight, sigset_t& passed_on) {
  if (watch.has_met_any()) sight.stop();
  pollfd ready[] = {{signals, POLLIN, 0}, {watch.fd(), POLLIN, 0}};
  int count = poll(ready, 2, milliseconds_until_look(sight));
  if (count == 0) sight.look();
  if (count <= 0) return;
  if (ready[0].revents) forward_signal(job, signals, watch, passed_on);
  if (ready[1].revents) watch.look();
}

// /proc shows its end until it is awaited.
pid_t await(pid_t job, int& status, JobSight& sight) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(job), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == job)
    sight.note_end();
  return waitpid(job, &status, WNOHANG | WUNTRACED);
}

int wait_and_forward(pid_t job, int signals, ProcessWatch& watch, JobSight& sight, sigset_t& passed_on) {
  for (;;) {
    int status = 0;
    pid_t changed = await(job, status, sight);
    if (changed == job && !WIFSTOPPED(status)) return exit_code(status);
    if (changed == job)
      stop_like(WSTOPSIG(status));
    else
      serve(job, signals, watch, sight, passed_on);
  }
}

// What a job needs besides its command; closes itself.
struct Descriptors {
  int failure[2] = {-1, -1};  // pipe for the child's errno if it cannot become the command
  int signals = -1;

  bool open(const sigset_t& handled) {
    signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals >= 0 && pipe2(failure, O_CLOEXEC) == 0;
  }
  void close_write_end() { close(std::exchange(failure[1], -1)); }
  ~Descriptors() {
    for (int fd : {failure[0], failure[1], signals})
      if (fd >= 0) close(fd);
  }
};

}  // namespace

Result<int> run_job(const JobStart& start, ProcessWatch& watch, JobSight& sight,
                    const std::function<void(int)>& ended) {
  sigset_t handled = handled_signals();
  Descriptors descriptors;
  if (!descriptors.open(handled))
    return Error{std::string("cannot start a process: ") + std::strerror(errno), "", ""};
  Inherited inherited = take_signals(handled);
  pid_t job = fork();
  if (job < 0) {
    int error = errno;
    give_back(inherited);
    return Error{std::string("cannot start a process: ") + std::strerror(error), "", ""};
  }
  if (job == 0) become(start.command, start.changed, inherited, descriptors.failure[1]);
  descriptors.close_write_end();
  int error = 0;
  ssize_t got = read(descriptors.failure[0], &error, sizeof(error));
  const bool started = got != static_cast<ssize_t>(sizeof(error));
  if (started) sight.begin(job);
  sigset_t passed_on;
  sigemptyset(&passed_on);
  int code = wait_and_forward(job, descriptors.signals, watch, sight, passed_on);
  if (started) {
    watch.note_end();
    wait_for_rest(watch, {descriptors.signals, passed_on, code, start.rest});
    ended(code);
  }
  keep_passed_on(inherited, passed_on);
  give_back(inherited);
  if (!started) return cannot_start(start.command.front(), error);
  return code;
}

}  // namespace ddpscope::commands
