// What the stories of hand_over_guest share.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace hand_over {

using Stories = std::map<std::string, int (*)()>;
extern const Stories kWaits, kTakes, kCrowds;

inline void touch(const std::string& name) {
  int fd = open(name.c_str(), O_WRONLY | O_CREAT, 0600);
  if (fd >= 0) close(fd);
}

inline void pause_ms(int ms) { usleep(static_cast<unsigned>(ms) * 1000); }

inline timespec in_ms(clockid_t clock, int ms) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1'000'000L;
  t.tv_sec += t.tv_nsec / 1'000'000'000;
  t.tv_nsec %= 1'000'000'000;
  return t;
}

// A thread of the guest's own making, joined when it goes out of scope.
class Thread {
 public:
  explicit Thread(std::function<void()> work) : work_(std::move(work)) {
    pthread_create(&handle_, nullptr, run, this);
  }
  ~Thread() { join(); }
  void join() {
    if (!joined_) pthread_join(handle_, nullptr);
    joined_ = true;
  }
  pthread_t handle() const { return handle_; }
  void was_joined() { joined_ = true; }

 private:
  static void* run(void* self) {
    static_cast<Thread*>(self)->work_();
    return nullptr;
  }
  std::function<void()> work_;
  pthread_t handle_{};
  bool joined_ = false;
};

}  // namespace hand_over
