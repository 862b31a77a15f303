// fork, exec, signals, wait.
#include "collector/commands/job_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace ddpscope::commands {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// The pipe closes itself when exec succeeds and carries errno when it fails.
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::map<std::string, std::string>& changed, const sigset_t& mask,
                         int failure) {
  for (const auto& [name, value] : changed) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(words[0], words.data());
  int error = errno;
  [[maybe_unused]] ssize_t written = write(failure, &error, sizeof(error));
  _exit(127);
}

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

int wait_and_forward(pid_t job, const sigset_t& handled) {
  for (;;) {
    int status = 0;
    pid_t ended = waitpid(job, &status, WNOHANG);
    if (ended == job) return exit_code(status);
    siginfo_t info{};
    int signal = sigwaitinfo(&handled, &info);
    // SI_KERNEL: the terminal has sent it to the whole group, the job too.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) kill(job, signal);
  }
}

}  // namespace

Result<int> run_job(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& changed) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return Error{std::strerror(errno), "pipe", ""};
  sigset_t handled = handled_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &handled, &before);
  pid_t job = fork();
  if (job < 0) return Error{std::string("cannot start a process: ") + std::strerror(errno), "", ""};
  if (job == 0) become(command, changed, before, failure[1]);
  close(failure[1]);
  int error = 0;
  ssize_t got = read(failure[0], &error, sizeof(error));
  close(failure[0]);
  int code = wait_and_forward(job, handled);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (got == static_cast<ssize_t>(sizeof(error)))
    return Error{std::string("cannot start the command: ") + std::strerror(error), command.front(),
                 "check its spelling and that it may be executed"};
  return code;
}

}  // namespace ddpscope::commands
