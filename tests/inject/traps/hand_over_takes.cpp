// Semaphores, locks, barriers, futexes, and copies of the process.
#include "hand_over_guest.h"

namespace hand_over {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// taken(semaphore) takes it, in another thread than the one that posts.
template <class Take>
int semaphore(Take take) {
  static sem_t ready;
  sem_init(&ready, 0, 0);
  touch("first");
  Thread taker([&] {
    if (take(&ready)) touch("after");
  });
  pause_ms(10);
  touch("before");
  sem_post(&ready);
  return 0;
}

int semaphore_wait() {
  return semaphore([](sem_t* s) { return sem_wait(s) == 0; });
}
int semaphore_try() {
  return semaphore([](sem_t* s) {
    while (sem_trywait(s) != 0)
      if (errno != EAGAIN) return false;
    return true;
  });
}
int semaphore_timed() {
  return semaphore([](sem_t* s) {
    timespec until = in_ms(CLOCK_REALTIME, 5000);
    return sem_timedwait(s, &until) == 0;
  });
}
int semaphore_clocked() {
  return semaphore([](sem_t* s) {
    timespec until = in_ms(CLOCK_MONOTONIC, 5000);
    return sem_clockwait(s, CLOCK_MONOTONIC, &until) == 0;
  });
}
// Two tokens, of which one is left: it may have been the one that was there from the beginning.
int semaphore_with_tokens() {
  static sem_t tokens;
  sem_init(&tokens, 0, 1);
  touch("first");
  sem_post(&tokens);
  Thread taker([] {
    sem_wait(&tokens);
    touch("after");
  });
  return 0;
}
int semaphore_timeout() {
  sem_t never;
  sem_init(&never, 0, 0);
  timespec until = in_ms(CLOCK_REALTIME, 5);
  touch("first");
  errno = 0;
  bool late = sem_timedwait(&never, &until) == -1 && errno == ETIMEDOUT;
  return late && sem_trywait(&never) == -1 && errno == EAGAIN ? 0 : 1;
}

// The handler posts in the middle of whatever this thread is at, recording included.
sem_t posted;
int post_in_handler() {
  sem_init(&posted, 0, 0);
  signal(SIGALRM, [](int) {
    int saved = errno;
    sem_post(&posted);
    errno = saved;
  });
  touch("first");
  std::atomic<int> taken = 0;
  std::atomic<bool> done = false;
  Thread taker([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!done)
      if (sem_trywait(&posted) == 0) touch("taken." + std::to_string(++taken));
  });
  itimerval often{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  int failures = 0;
  for (int i = 0; i < 200000 && taken < 100; ++i) {
    errno = 0;
    if (access("first", F_OK) != 0 || errno) ++failures;
    if (i % 64 == 0) touch("busy." + std::to_string(i % 8));
  }
  often = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  done = true;
  return failures || taken < 100 ? 1 : 0;
}

int lock_after_unlock() {
  std::atomic<int> stage = 0;
  touch("first");
  auto locked = [](const char* name) {
    pthread_mutex_lock(&mutex);
    touch(name);
    pthread_mutex_unlock(&mutex);
  };
  Thread one([&] {
    locked("one");
    ++stage;
    while (stage < 3) pause_ms(1);
  });
  Thread two([&] {
    while (stage < 1) pause_ms(1);
    locked("two");
    ++stage;
    while (stage < 3) pause_ms(1);
  });
  while (stage < 2) pause_ms(1);
  locked("main");
  for (int i = 0; i < 1000; ++i) {  // says nothing new
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  ++stage;
  return 0;
}

// Two threads pass a mutex to and fro: what one was told by it need not be told back.
int to_and_fro() {
  touch("first");
  pthread_mutex_lock(&mutex);
  touch("held");
  std::atomic<int> turn = 0;
  auto pass = [&](int mine) {
    for (int i = 0; i < 1000; ++i) {
      while (turn % 2 != mine) sched_yield();
      pthread_mutex_lock(&mutex);
      ++turn;
      pthread_mutex_unlock(&mutex);
    }
  };
  pthread_mutex_unlock(&mutex);
  Thread other([&] {
    touch("other");
    pass(1);
  });
  pass(0);
  return 0;
}

int recursive() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  static pthread_mutex_t twice;
  pthread_mutex_init(&twice, &attributes);
  touch("first");
  std::atomic<int> stage = 0;
  Thread inner([&] {
    pthread_mutex_lock(&twice);
    pthread_mutex_lock(&twice);
    touch("early");
    pthread_mutex_unlock(&twice);
    stage = 1;
    pause_ms(20);
    touch("late");
    pthread_mutex_unlock(&twice);
  });
  while (!stage) pause_ms(1);
  bool busy = pthread_mutex_trylock(&twice) == EBUSY;
  pthread_mutex_lock(&twice);
  touch("after");
  pthread_mutex_unlock(&twice);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &attributes);
  bool told = pthread_mutex_unlock(&checked) == EPERM && pthread_mutex_lock(&checked) == 0 &&
              pthread_mutex_lock(&checked) == EDEADLK && pthread_mutex_unlock(&checked) == 0;
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t robust;
  pthread_mutex_init(&robust, &attributes);
  Thread dies([&] { pthread_mutex_lock(&robust); });
  dies.join();
  bool inherited = pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0 &&
                   pthread_mutex_unlock(&robust) == 0;
  return busy && told && inherited ? 0 : 1;
}

int read_write_lock() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  touch("first");
  int failures = 0;
  auto use = [&](const char* name, int (*take)()) {
    Thread user([&] {
      if (take()) ++failures;
      touch(name);
      pthread_rwlock_unlock(&lock);
    });
  };
  use("wrlock", [] { return pthread_rwlock_wrlock(&lock); });
  use("rdlock", [] { return pthread_rwlock_rdlock(&lock); });
  use("tryrdlock", [] { return pthread_rwlock_tryrdlock(&lock); });
  use("trywrlock", [] { return pthread_rwlock_trywrlock(&lock); });
  auto soon = [] { return in_ms(CLOCK_REALTIME, 5000); };
  static timespec until = soon();
  use("timedrdlock", [] { return pthread_rwlock_timedrdlock(&lock, &until); });
  use("timedwrlock", [] { return pthread_rwlock_timedwrlock(&lock, &until); });
  use("clockrdlock", [] { return pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &until); });
  use("clockwrlock", [] { return pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &until); });
  pthread_rwlock_wrlock(&lock);
  bool busy = pthread_rwlock_tryrdlock(&lock) == EBUSY;
  pthread_rwlock_unlock(&lock);
  return failures == 0 && busy ? 0 : 1;
}

// Each thread touches a file between rounds: what is done after a round is not of that round.
int barrier_of_threads() {
  constexpr int kThreads = 3, kRounds = 100;
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  touch("first");
  std::atomic<int> serial = 0;
  auto meet = [&](int who) {
    for (int round = 0; round < kRounds; ++round) {
      touch(std::to_string(who) + "." + std::to_string(round));
      serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    }
  };
  {
    Thread one([&] { meet(1); });
    Thread two([&] { meet(2); });
    meet(0);
  }
  pthread_barrier_destroy(&barrier);
  return serial == kRounds ? 0 : 1;
}

// libstdc++ waits for these by futex.
int latch() {
  static std::latch ready(1);
  std::promise<int> promise;
  auto answer = promise.get_future();
  touch("first");
  Thread waiter([&] {
    ready.wait();
    touch("after");
    promise.set_value(7);
  });
  pause_ms(50);
  touch("before");
  Thread signaller([&] {
    pause_ms(50);
    touch("from-thread");
    ready.count_down();
  });
  bool good = answer.get() == 7;
  touch("last");
  return good ? 0 : 1;
}

// Another thread holds the mutex, and had released it, when the process is copied.
int forked() {
  touch("first");
  std::atomic<int> stage = 0;
  static pthread_mutex_t other_mutex = PTHREAD_MUTEX_INITIALIZER;
  Thread other([&] {
    pthread_mutex_lock(&other_mutex);
    touch("parents");
    pthread_mutex_unlock(&other_mutex);
    pthread_mutex_lock(&mutex);
    stage = 1;
    while (stage < 2) pause_ms(1);
    pthread_mutex_unlock(&mutex);
  });
  while (stage < 1) pause_ms(1);
  pid_t child = fork();
  if (child == 0) {
    touch("child");
    pthread_mutex_lock(&other_mutex);
    touch("child-locked");
    pthread_mutex_unlock(&other_mutex);
    {
      Thread its_own([] {
        pthread_mutex_lock(&other_mutex);
        touch("child-after");
        pthread_mutex_unlock(&other_mutex);
      });
    }
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  stage = 2;
  return status;
}

// A run of writes in one file is one record: not across a hand-over.
int parted_run() {
  int fd = open("written", O_WRONLY | O_CREAT, 0600);
  sem_t ready, go_on;
  sem_init(&ready, 0, 0);
  sem_init(&go_on, 0, 0);
  Thread reader([&] {
    sem_wait(&ready);
    touch("after");
    sem_post(&go_on);
  });
  for (int i = 0; i < 10; ++i) (void)!write(fd, "x", 1);
  sem_post(&ready);
  for (int i = 0; i < 10; ++i) (void)!write(fd, "x", 1);
  sem_wait(&go_on);
  close(fd);
  return 0;
}

// Between processes.
int shared_memory() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* semaphores = static_cast<sem_t*>(page) + 2;
  sem_init(&semaphores[0], 1, 0);
  sem_init(&semaphores[1], 1, 0);
  touch("first");
  pid_t child = fork();
  if (child == 0) {
    touch("child");
    sem_wait(&semaphores[0]);
    touch("child-after");
    sem_post(&semaphores[1]);
    _exit(0);
  }
  pause_ms(50);
  touch("before");
  sem_post(&semaphores[0]);
  while (sem_trywait(&semaphores[1]) != 0) pause_ms(1);
  int status;
  waitpid(child, &status, 0);
  return status;
}

int named_semaphore() {
  std::string name = "/ddpscope-test." + std::to_string(getpid());
  sem_t* semaphore = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 0);
  touch("first");
  pid_t child = fork();
  if (child == 0) {
    sem_t* again = sem_open(name.c_str(), 0);
    touch("child");
    sem_post(again);
    _exit(0);
  }
  sem_wait(semaphore);
  touch("after");
  timespec until = in_ms(CLOCK_REALTIME, 5);
  bool late = sem_timedwait(semaphore, &until) == -1 && errno == ETIMEDOUT;
  int status;
  waitpid(child, &status, 0);
  sem_close(semaphore);
  sem_unlink(name.c_str());
  return late ? status : 1;
}

}  // namespace

const Stories kTakes = {
    {"sem-wait", semaphore_wait},
    {"sem-trywait", semaphore_try},
    {"sem-timedwait", semaphore_timed},
    {"sem-clockwait", semaphore_clocked},
    {"sem-tokens", semaphore_with_tokens},
    {"sem-timeout", semaphore_timeout},
    {"post-in-handler", post_in_handler},
    {"mutex", lock_after_unlock},
    {"to-and-fro", to_and_fro},
    {"recursive", recursive},
    {"rwlock", read_write_lock},
    {"barrier", barrier_of_threads},
    {"latch", latch},
    {"forked", forked},
    {"parted-run", parted_run},
    {"shared-memory", shared_memory},
    {"named-semaphore", named_semaphore},
};

}  // namespace hand_over
