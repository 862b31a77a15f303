// More threads than an object has room for.
#include <vector>

#include "hand_over_guest.h"

namespace hand_over {
namespace {

constexpr int kThreads = 8;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

std::string numbered(const char* name, int number) { return name + ("." + std::to_string(number)); }

// work(i) in threads of its own, one after the other; all of them live until all have done it.
void in_turn(int threads, const std::function<void(int)>& work) {
  std::atomic<int> turn = 0;
  std::vector<std::unique_ptr<Thread>> all;
  for (int i = 0; i < threads; ++i)
    all.push_back(std::make_unique<Thread>([&, i] {
      while (turn < i) pause_ms(1);
      work(i);
      ++turn;
      while (turn < threads) pause_ms(1);
    }));
}

int crowd_at_mutex() {
  touch("first");
  in_turn(kThreads, [](int i) {
    pthread_mutex_lock(&mutex);
    touch(numbered("locked", i));
    pthread_mutex_unlock(&mutex);
  });
  pthread_mutex_lock(&mutex);
  touch("main");
  pthread_mutex_unlock(&mutex);
  return 0;
}

// A mutex at the same address, once those of the first have gone.
int mutex_made_anew() {
  static pthread_mutex_t reused;
  touch("first");
  auto use = [](const char* name) {
    pthread_mutex_init(&reused, nullptr);
    in_turn(kThreads, [name](int i) {
      pthread_mutex_lock(&reused);
      touch(numbered(name, i));
      pthread_mutex_unlock(&reused);
    });
  };
  use("old");
  pthread_mutex_destroy(&reused);
  use("new");
  return 0;
}

int crowd_of_posts() {
  static sem_t posted;
  sem_init(&posted, 0, 0);
  touch("first");
  in_turn(kThreads, [](int i) {
    touch(numbered("posted", i));
    sem_post(&posted);
  });
  for (int i = 0; i < kThreads; ++i) sem_wait(&posted);
  touch("main");
  return 0;
}

int crowd_of_readers() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  touch("first");
  in_turn(kThreads, [](int i) {
    pthread_rwlock_rdlock(&lock);
    touch(numbered("read", i));
    pthread_rwlock_unlock(&lock);
  });
  pthread_rwlock_wrlock(&lock);
  touch("main");
  pthread_rwlock_unlock(&lock);
  return 0;
}

// Nobody can return from the wait before all have signalled: the mutex is held meanwhile.
int crowd_of_signallers() {
  static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  static std::atomic<bool> waits = false;
  touch("first");
  in_turn(kThreads, [](int i) {
    touch(numbered("early", i));
    pthread_cond_signal(&changed);
  });
  Thread waiter([] {
    pthread_mutex_lock(&mutex);
    waits = true;
    pthread_cond_wait(&changed, &mutex);
    touch("woken");
    pthread_mutex_unlock(&mutex);
  });
  while (!waits) pause_ms(1);
  pthread_mutex_lock(&mutex);
  in_turn(kThreads, [](int i) {
    touch(numbered("signalled", i));
    pthread_cond_signal(&changed);
  });
  pthread_mutex_unlock(&mutex);
  return 0;
}

int crowd_at_barrier() {
  constexpr int kRounds = 20;
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  touch("first");
  std::vector<std::unique_ptr<Thread>> all;
  for (int who = 0; who < kThreads; ++who)
    all.push_back(std::make_unique<Thread>([who] {
      for (int round = 0; round < kRounds; ++round) {
        touch(numbered(std::to_string(who).c_str(), round));
        pthread_barrier_wait(&barrier);
      }
    }));
  return 0;
}

// Nothing new after the first time: no more records, however often.
int crowd_with_no_news() {
  touch("first");
  std::vector<std::unique_ptr<Thread>> all;
  for (int i = 0; i < 32; ++i)
    all.push_back(std::make_unique<Thread>([i] {
      touch(numbered("worker", i));
      for (int n = 0; n < 5000; ++n) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
      }
    }));
  return 0;
}

}  // namespace

const Stories kCrowds = {
    {"crowd-mutex", crowd_at_mutex},
    {"mutex-made-anew", mutex_made_anew},
    {"crowd-semaphore", crowd_of_posts},
    {"crowd-rwlock", crowd_of_readers},
    {"crowd-condition", crowd_of_signallers},
    {"crowd-barrier", crowd_at_barrier},
    {"crowd-without-news", crowd_with_no_news},
};

}  // namespace hand_over
