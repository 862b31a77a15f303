// Mutexes, semaphores and condition variables.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <thread>

#include "tests/bench/measure_calls.h"
#include "tests/bench/timed_calls.h"

namespace ddpscope::bench {
namespace {

// One reading of the clock takes as long as one of these calls, and hides part of it: ten are timed at once.
constexpr int kTimes = 10;
template <class Call>
auto ten_times(const Call& call) {
  return [&call](std::size_t) {
    for (int i = 0; i < kTimes; ++i) call();
  };
}

template <class Hooked, class Bare>
void measure_tens(std::uint64_t calls, const Hooked& hooked, const Bare& bare_call) {
  measure(calls, ten_times(hooked), ten_times(bare_call));
}

// libc's own function, past the preloaded hook.
template <class Function>
Function* bare(const char* name, const char* version = nullptr) {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(version ? dlvsym(libc, name, version) : dlsym(libc, name));
}

using OnMutex = int(pthread_mutex_t*);
using OnSemaphore = int(sem_t*);
using OnCondition = int(pthread_cond_t*);

// The thread has something to hand over.
void record_something(ncclComm_t communicator) {
  char buffer[4];
  ncclAllReduce(buffer, buffer, 1, ncclFloat, ncclSum, communicator, nullptr);
}

void measure_lock(std::uint64_t calls, pthread_mutex_t* mutex) {
  auto* lock = bare<OnMutex>("pthread_mutex_lock");
  auto* unlock = bare<OnMutex>("pthread_mutex_unlock");
  measure_tens(
      calls,
      [&] {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
      },
      [&] {
        lock(mutex);
        unlock(mutex);
      });
}

void measure_after_others(int threads, std::uint64_t calls) {
  ncclComm_t communicator = make_communicator();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < threads; ++i)
    std::thread([&] {
      pthread_mutex_lock(&mutex);
      record_something(communicator);
      pthread_mutex_unlock(&mutex);
    }).join();
  measure_lock(calls, &mutex);
}

// Two threads that take turns by one condition variable.
class PingPong {
 public:
  using Lock = OnMutex*;
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*);
  PingPong(Lock lock, Lock unlock, Wait wait, OnCondition* signal)
      : lock_(lock), unlock_(unlock), wait_(wait), signal_(signal), other_([this] { answer(); }) {}
  ~PingPong() {
    pass(kEnd);
    other_.join();
  }
  void round() {
    pass(kTheirs);
    await(kOurs);
  }

 private:
  enum Turn { kOurs, kTheirs, kEnd };

  void pass(Turn to) {
    lock_(&mutex_);
    turn_ = to;
    signal_(&changed_);
    unlock_(&mutex_);
  }
  Turn await(Turn turn) {
    lock_(&mutex_);
    while (turn_ != turn && turn_ != kEnd) wait_(&changed_, &mutex_);
    Turn now = turn_;
    unlock_(&mutex_);
    return now;
  }
  void answer() {
    while (await(kTheirs) != kEnd) pass(kOurs);
  }

  Lock lock_, unlock_;
  Wait wait_;
  OnCondition* signal_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  Turn turn_ = kOurs;
  std::thread other_;
};

}  // namespace
}  // namespace ddpscope::bench

using namespace ddpscope::bench;

void time_locks(std::uint64_t calls) {
  record_something(make_communicator());
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  measure_lock(calls, &mutex);
}

void time_shared_locks(std::uint64_t calls) { measure_after_others(1, calls); }
void time_crowded_locks(std::uint64_t calls) { measure_after_others(6, calls); }

void time_signals(std::uint64_t calls) {
  record_something(make_communicator());
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  auto* signal = bare<OnCondition>("pthread_cond_signal", "GLIBC_2.3.2");
  measure_tens(
      calls, [&] { pthread_cond_signal(&condition); }, [&] { signal(&condition); });
}

void time_posts(std::uint64_t calls) {
  record_something(make_communicator());
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  auto* post = bare<OnSemaphore>("sem_post");
  auto* take = bare<OnSemaphore>("sem_trywait");
  measure_tens(
      calls,
      [&] {
        sem_post(&semaphore);
        sem_trywait(&semaphore);
      },
      [&] {
        post(&semaphore);
        take(&semaphore);
      });
}

void time_wakes(std::uint64_t calls) {
  record_something(make_communicator());
  PingPong hooked(&pthread_mutex_lock, &pthread_mutex_unlock, &pthread_cond_wait, &pthread_cond_signal);
  PingPong past(bare<OnMutex>("pthread_mutex_lock"), bare<OnMutex>("pthread_mutex_unlock"),
                bare<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", "GLIBC_2.3.2"),
                bare<OnCondition>("pthread_cond_signal", "GLIBC_2.3.2"));
  measure(
      calls, [&](std::size_t) { hooked.round(); }, [&](std::size_t) { past.round(); });
}
