// Threads made, joined, and woken by conditions.
#include "hand_over_guest.h"

namespace hand_over {
namespace {

int join_in_all_ways() {
  touch("first");
  Thread plain([] { touch("plain"); });
  plain.join();
  Thread polled([] { touch("polled"); });
  while (pthread_tryjoin_np(polled.handle(), nullptr) == EBUSY) pause_ms(1);
  polled.was_joined();
  Thread timed([] { touch("timed"); });
  timespec until = in_ms(CLOCK_REALTIME, 5000);
  int result = pthread_timedjoin_np(timed.handle(), nullptr, &until);
  timed.was_joined();
  Thread clocked([] { touch("clocked"); });
  until = in_ms(CLOCK_MONOTONIC, 5000);
  result |= pthread_clockjoin_np(clocked.handle(), nullptr, CLOCK_MONOTONIC, &until);
  clocked.was_joined();
  Thread slow([] { pause_ms(100); });
  until = in_ms(CLOCK_REALTIME, 1);
  bool late = pthread_timedjoin_np(slow.handle(), nullptr, &until) == ETIMEDOUT;
  return result == 0 && late ? 0 : 1;
}

int c11_threads() {
  touch("first");
  thrd_t thread;
  int answer = 0;
  thrd_create(
      &thread,
      [](void* name) {
        touch(static_cast<char*>(name));
        return -7;
      },
      const_cast<char*>("c11"));
  thrd_join(thread, &answer);
  touch("last");
  return answer == -7 ? 0 : 1;
}

// Made and ended before anything is recorded of the process, and after.
int early_thread() {
  std::atomic<bool> go = false;
  Thread early([&] {
    while (!go) pause_ms(1);
    touch("early");
  });
  touch("first");
  go = true;
  early.join();
  touch("last");
  return 0;
}

// The wait begins before the signal: the waiter says so under the mutex.
template <class Wait, class Signal>
int wait_for(pthread_mutex_t* mutex, Wait wait, Signal signal) {
  bool ready = false, waiting = false;
  touch("first");
  pthread_mutex_lock(mutex);  // so that the waiter takes something when it locks it
  pthread_mutex_unlock(mutex);
  Thread waiter([&] {
    pthread_mutex_lock(mutex);
    waiting = true;
    while (!ready) wait();
    pthread_mutex_unlock(mutex);
    touch("after");
  });
  for (bool seen = false; !seen; pause_ms(1)) {
    pthread_mutex_lock(mutex);
    seen = waiting;
    pthread_mutex_unlock(mutex);
  }
  touch("before");
  pthread_mutex_lock(mutex);
  ready = true;
  signal();
  pthread_mutex_unlock(mutex);
  return 0;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

int wait_plainly() {
  return wait_for(
      &mutex, [] { pthread_cond_wait(&condition, &mutex); }, [] { pthread_cond_signal(&condition); });
}
int wait_timed() {
  return wait_for(
      &mutex,
      [] {
        timespec until = in_ms(CLOCK_REALTIME, 5000);
        pthread_cond_timedwait(&condition, &mutex, &until);
      },
      [] { pthread_cond_broadcast(&condition); });
}
int wait_clocked() {
  return wait_for(
      &mutex,
      [] {
        timespec until = in_ms(CLOCK_MONOTONIC, 5000);
        pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
      },
      [] { pthread_cond_signal(&condition); });
}

int wait_c11() {
  mtx_t lock;
  cnd_t changed;
  bool ready = false, waiting = false;
  mtx_init(&lock, mtx_plain);
  cnd_init(&changed);
  touch("first");
  mtx_lock(&lock);
  mtx_unlock(&lock);
  Thread waiter([&] {
    mtx_lock(&lock);
    waiting = true;
    while (!ready) cnd_wait(&changed, &lock);
    mtx_unlock(&lock);
    touch("after");
  });
  for (bool seen = false; !seen; pause_ms(1)) {
    mtx_lock(&lock);
    seen = waiting;
    mtx_unlock(&lock);
  }
  touch("before");
  mtx_lock(&lock);
  ready = true;
  cnd_signal(&changed);
  mtx_unlock(&lock);
  return 0;
}

// libstdc++ jumps to pthread_cond_wait: the guest's own code is what it returns to.
int wait_cxx() {
  std::mutex lock;
  std::condition_variable changed;
  bool ready = false, waiting = false;
  touch("first");
  std::thread waiter([&] {
    std::unique_lock held(lock);
    waiting = true;
    changed.wait(held, [&] { return ready; });
    held.unlock();
    touch("after");
  });
  for (bool seen = false; !seen; pause_ms(1)) {
    std::lock_guard held(lock);
    seen = waiting;
  }
  touch("before");
  {
    std::lock_guard held(lock);
    ready = true;
  }
  changed.notify_one();
  waiter.join();
  return 0;
}

// Two signals in one wait, made by two threads while a third holds the mutex back.
int two_signallers() {
  std::atomic<int> stage = 0;
  touch("first");
  Thread waiter([&] {
    pthread_mutex_lock(&mutex);
    stage = 1;
    while (stage < 4) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    touch("after");
  });
  Thread one([&] {
    while (stage < 1) pause_ms(1);
    pthread_mutex_lock(&mutex);
    touch("one");
    pthread_cond_signal(&condition);
    stage = 3;
    while (stage < 4) pause_ms(1);
    pthread_mutex_unlock(&mutex);
  });
  Thread two([&] {
    while (stage < 3) pause_ms(1);
    touch("two");
    pthread_cond_signal(&condition);
    stage = 4;
  });
  return 0;
}

// Nobody signals: what the other thread did under the mutex is all that is handed over.
int timed_out() {
  std::atomic<bool> waiting = false;
  touch("first");
  Thread waiter([&] {
    pthread_mutex_lock(&mutex);
    waiting = true;
    timespec until = in_ms(CLOCK_REALTIME, 100);
    int result = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    touch(result == ETIMEDOUT ? "after" : "woken");
  });
  while (!waiting) pause_ms(1);
  pthread_mutex_lock(&mutex);
  touch("before");
  pthread_mutex_unlock(&mutex);
  return 0;
}

// A signal before the wait ends no wait.
int signalled_before() {
  std::atomic<bool> signalled = false;
  touch("first");
  Thread waiter([&] {
    while (!signalled) pause_ms(1);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    Thread other([&] {
      pause_ms(20);
      touch("other");
      pthread_cond_signal(&condition);
    });
    pthread_cond_wait(&condition, &own);
    pthread_mutex_unlock(&own);
    touch("after");
  });
  touch("before");
  pthread_cond_signal(&condition);
  signalled = true;
  return 0;
}

// The signaller had signalled before the wait and did nothing since.
int signalled_again() {
  std::atomic<bool> waiting = false;
  touch("first");
  Thread waiter([&] {
    while (!waiting) pause_ms(1);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_cond_wait(&condition, &own);
    pthread_mutex_unlock(&own);
    touch("after");
  });
  touch("before");
  pthread_cond_signal(&condition);
  waiting = true;
  pause_ms(50);
  pthread_cond_signal(&condition);
  return 0;
}

int cancelled() {
  touch("first");
  static std::atomic<bool> waiting = false;
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&mutex);
        pthread_cleanup_push(
            [](void*) {
              touch("cleanup");
              pthread_mutex_unlock(&mutex);
            },
            nullptr);
        waiting = true;
        pthread_cond_wait(&condition, &mutex);
        pthread_cleanup_pop(1);
        return nullptr;
      },
      nullptr);
  while (!waiting) pause_ms(1);
  pause_ms(10);
  pthread_cancel(thread);
  void* result;
  pthread_join(thread, &result);
  pthread_mutex_lock(&mutex);
  touch("after");
  pthread_mutex_unlock(&mutex);
  return result == PTHREAD_CANCELED ? 0 : 1;
}

// The new thread makes its first record when its creator has long filled the memory in which it recorded it.
int late_thread() {
  constexpr int kChunksOfRecords = 3 * 4096;
  auto record_much = [] {
    for (int i = 0; i < kChunksOfRecords; ++i) touch("creator");
  };
  record_much();
  sem_t begin;
  sem_init(&begin, 0, 0);
  Thread late([&begin] {
    while (sem_wait(&begin) != 0) {
    }
    touch("late");
  });
  record_much();
  sem_post(&begin);
  late.join();
  return 0;
}

}  // namespace

const Stories kWaits = {
    {"late-thread", late_thread},
    {"join", join_in_all_ways},
    {"c11", c11_threads},
    {"early", early_thread},
    {"wait", wait_plainly},
    {"timedwait", wait_timed},
    {"clockwait", wait_clocked},
    {"c11-wait", wait_c11},
    {"c++-wait", wait_cxx},
    {"two-signallers", two_signallers},
    {"timed-out", timed_out},
    {"signalled-before", signalled_before},
    {"signalled-again", signalled_again},
    {"cancelled", cancelled},
};

}  // namespace hand_over
