// Starts the ranks of a job on this machine.
#include "launcher.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "check.h"
#include "store.h"

namespace reference_trainer {
namespace {

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// In the child: never returns.
[[noreturn]] void become_rank(int rank, const Arguments& arguments, const Listener& listener,
                              const sigset_t& signals, char** argv) {
  const int ranks = arguments.ranks;
  const std::string own = std::to_string(rank);
  std::vector<char*> words;
  for (char** word = argv; *word; ++word) words.push_back(*word);
  set("RANK", own);
  if (arguments.faults.on(Twin::kMaskedDevices)) set("CUDA_VISIBLE_DEVICES", own);
  // The job's GPUs are not the first ones of the machine.
  if (arguments.faults.on(Fault::kRankMismatchEnvironment)) {
    set("RANK", std::to_string(rank + 1 + arguments.fault_rank));
    for (const char* word : {"--rank", own.c_str()}) words.push_back(const_cast<char*>(word));
  }
  words.push_back(nullptr);
  set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(ranks));
  set("LOCAL_WORLD_SIZE", std::to_string(ranks));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(listener.port()));
  // Rank 0 takes the open socket over: no other program can get hold of the port in between.
  if (rank == 0) set(kListenerVariable, std::to_string(listener.hand_over()));
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  execv("/proc/self/exe", words.data());
  fmt::print(stderr, "error: cannot start rank {}: {}\n", rank, strerror(errno));
  _exit(2);
}

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Takes note of the ranks that have ended; true once all have.
bool reap(std::vector<pid_t>& ranks, int& worst) {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    std::erase(ranks, pid);
    worst = std::max(worst, exit_code(status));
  }
  return ranks.empty();
}

void send(const std::vector<pid_t>& ranks, int signal) {
  for (pid_t pid : ranks) kill(pid, signal);
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    sigaddset(&signals, signal);
  return signals;
}

}  // namespace

int launch_ranks(const Arguments& arguments, char** argv) {
  const sigset_t signals = handled_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::vector<pid_t> running;
  {
    const Listener listener("127.0.0.1", 0);
    for (int rank = 0; rank < arguments.ranks; ++rank) {
      const pid_t pid = check_system(fork(), "fork");
      if (pid == 0) become_rank(rank, arguments, listener, signals, argv);
      running.push_back(pid);
    }
  }
  int worst = 0;
  const pid_t first = running.front();
  for (;;) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal == SIGCHLD) {
      if (reap(running, worst)) return worst;
      // Who idles waits for this.
      if (arguments.faults.on(Fault::kNoGroupIdle) && std::ranges::find(running, first) == running.end())
        send(running, SIGTERM);
    } else if (signal > 0) {
      send(running, signal);
    }
  }
}

}  // namespace reference_trainer
