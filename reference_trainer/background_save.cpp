// Saves in the background: one at a time.
#include "background_save.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "check.h"

namespace reference_trainer {

BackgroundSave::~BackgroundSave() {
  try {
    wait();
  } catch (const std::exception&) {
  }
}

void BackgroundSave::in_thread(std::function<void()> save) {
  wait();
  thread_ = std::thread([this, save = std::move(save)] {
    try {
      save();
    } catch (...) {
      error_ = std::current_exception();
    }
  });
}

void BackgroundSave::in_process(std::function<void()> save) {
  wait();
  const pid_t parent = getpid();
  process_ = check_system(fork(), "fork");
  if (process_ != 0) return;
  // However the rank ends, its save ends too.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  try {
    save();
    _exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: saving process: {}\n", error.what());
    _exit(1);
  }
}

void BackgroundSave::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (process_ == 0) return;
  int status = 0;
  check_system(waitpid(std::exchange(process_, 0), &status, 0), "waitpid");
  if (status != 0) throw std::runtime_error("a saving process failed");
}

}  // namespace reference_trainer
