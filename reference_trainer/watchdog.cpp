// Ends a rank that makes no progress: says where it is stuck, aborts its communicators, exits with code 1.
#include "watchdog.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

namespace reference_trainer {
namespace {

constexpr std::chrono::milliseconds kPollInterval(100);
// An abort that itself hangs must not keep the process alive.
constexpr unsigned kAbortSeconds = 5;

}  // namespace

Watchdog::Watchdog(int rank, std::chrono::milliseconds timeout)
    : rank_(rank), timeout_(timeout), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_one();
  thread_.join();
}

void Watchdog::at(std::string place) {
  const std::lock_guard lock(mutex_);
  place_ = std::move(place);
  since_ = std::chrono::steady_clock::now();
}

void Watchdog::watch(ncclComm_t communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
}

void Watchdog::forget(ncclComm_t communicator) {
  const std::lock_guard lock(mutex_);
  std::erase(communicators_, communicator);
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_changed_.wait_for(lock, kPollInterval, [this] { return stopped_; })) {
    if (const std::string why = trouble(); !why.empty()) give_up(why);
  }
}

std::string Watchdog::trouble() {
  const auto waited = std::chrono::steady_clock::now() - since_;
  if (waited > timeout_) {
    return fmt::format("no progress for {:.1f} s", std::chrono::duration<double>(waited).count());
  }
  for (ncclComm_t communicator : communicators_) {
    ncclResult_t error = ncclSuccess;
    ncclCommGetAsyncError(communicator, &error);
    if (error != ncclSuccess && error != ncclInProgress) return ncclGetErrorString(error);
  }
  return {};
}

void Watchdog::give_up(const std::string& why) {
  fmt::print(stderr, "error: rank {} is stuck at {}: {}\n", rank_, place_, why);
  signal(SIGALRM, [](int) { _exit(1); });
  alarm(kAbortSeconds);
  for (ncclComm_t communicator : communicators_) ncclCommAbort(communicator);
  _exit(1);
}

}  // namespace reference_trainer
