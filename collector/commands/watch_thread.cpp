// Signals are blocked while the thread is made, which inherits that.
#include "collector/commands/watch_thread.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace ddpscope::commands {

std::jthread start_watch_thread(std::function<void(const std::stop_token&)> watch) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(watch));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

std::chrono::nanoseconds computed() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

std::chrono::nanoseconds pause_after(std::chrono::nanoseconds look, int share,
                                     std::chrono::nanoseconds most) {
  return std::clamp<std::chrono::nanoseconds>(look * share, std::chrono::seconds(1), most);
}

bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace ddpscope::commands
