// Started past our own hook, so that no record tells of it.
#include "injector/device_times/own_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "injector/core/real.h"
#include "injector/device_times/timing.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

void finish_at_exit(int, void*) { finish_device_times(); }

// Its signals are the guest's: they go to the guest's threads.
bool create(void* (*run)(void*)) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static constinit NamedFunction<Create> create_thread("pthread_create");
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (!create_thread.get() || pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigprocmask(SIG_SETMASK, &all, &before);  // of this thread: Linux has no other
  pthread_t thread;
  int error = create_thread.get()(&thread, &attributes, run, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace

void OwnThread::set(Phase phase) {
  __atomic_store_n(&phase_, phase, __ATOMIC_RELEASE);
  trace::raw_syscall(SYS_futex, trace::as_argument(&phase_), FUTEX_WAKE_PRIVATE, 64);
}

void OwnThread::wait_while(Phase phase, std::uint64_t ns) {
  timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  trace::raw_syscall(SYS_futex, trace::as_argument(&phase_), FUTEX_WAIT_PRIVATE, static_cast<long>(phase),
                     trace::as_argument(&time));
}

bool OwnThread::start(void* (*run)(void*)) {
  Phase now = phase();
  if (now == Phase::kRuns) return true;
  if (now != Phase::kNone) return false;
  if (!__atomic_compare_exchange_n(&phase_, &now, Phase::kRuns, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return now == Phase::kRuns;
  if (!create(run)) {
    set(Phase::kFailed);
    return false;
  }
  // After what the CUDA runtime has registered for its own end, hence called before it.
  on_exit(finish_at_exit, nullptr);
  return true;
}

bool OwnThread::goes_on_after(std::uint64_t ns) {
  if (phase() == Phase::kRuns) wait_while(Phase::kRuns, ns);
  return phase() == Phase::kRuns;
}

void OwnThread::end() { set(Phase::kGone); }

void OwnThread::finish(std::uint64_t ns) {
  Phase now = Phase::kRuns;
  if (!__atomic_compare_exchange_n(&phase_, &now, Phase::kFinishing, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  set(Phase::kFinishing);
  wait_while(Phase::kFinishing, ns);
}

}  // namespace ddpscope::injector
