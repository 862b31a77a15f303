// Who gave work up, and the streams that are held meanwhile.
#include "standin/cuda/given_up.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ddpscope::standin {

namespace detail {
constinit thread_local bool thread_gave_up = false;
}

namespace {

using Clock = std::chrono::steady_clock;
// PyTorch's watchdog writes what it knows, for 15 s at most, before it ends the process.
constexpr std::chrono::seconds kAtMost{30};

struct Held {
  std::mutex mutex;
  std::condition_variable changed;
  int threads = 0;  // that gave up and have not gone on
  Clock::time_point until;
};

Held& held() {
  static auto* const instance = new Held;
  return *instance;
}

struct ThreadEnd {
  ~ThreadEnd() { thread_goes_on(); }
};

}  // namespace

void give_up_work() {
  thread_local ThreadEnd end;
  [[maybe_unused]] const ThreadEnd& constructed = end;
  std::lock_guard lock(held().mutex);
  if (!detail::thread_gave_up) ++held().threads;
  detail::thread_gave_up = true;
  held().until = Clock::now() + kAtMost;
}

void wait_until_let_go() {
  std::unique_lock lock(held().mutex);
  held().changed.wait_until(lock, held().until, [] { return held().threads == 0; });
}

void detail::let_go() {
  thread_gave_up = false;
  std::lock_guard lock(held().mutex);
  --held().threads;
  held().changed.notify_all();
}

}  // namespace ddpscope::standin
