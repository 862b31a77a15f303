// Condition variables. Their functions have two versions: injector/core/real.cpp finds today's.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "injector/threads/hand_over.h"

namespace ddpscope::injector {
namespace {

NamedFunction<int(pthread_cond_t*)> real_signal("pthread_cond_signal");
NamedFunction<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
NamedFunction<int(pthread_cond_t*)> real_destroy("pthread_cond_destroy");
NamedFunction<int(cnd_t*)> real_c11_signal("cnd_signal");
NamedFunction<int(cnd_t*)> real_c11_broadcast("cnd_broadcast");

// Once Python waits for its lock or signals it, nothing of the program's is handed over.
template <Call call, int timed_out, class RealCall>
inline int recorded_wait(const void* condition, const void* mutex, std::uintptr_t site, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::HandOver>);
  if (python::is_interpreter(site)) return real_call();
  Waiting waiting = begin_waiting(condition);
  give_up_mutex(mutex);
  int result = real_call();
  JustTaken taken;
  if (result == 0) taken = woken(waiting, {call, HandOverKind::kCondition, condition, site});
  if (result == 0 || result == timed_out || (timed_out == ETIMEDOUT && result == EOWNERDEAD))
    if (may_have_news(mutex)) take_news({call, HandOverKind::kMutex, mutex, site, trace::kRelock}, taken);
  return result;
}

__attribute__((constructor(101))) void find_real_functions() {
  real_signal.get();
  real_broadcast.get();
  real_destroy.get();
  real_c11_signal.get();
  real_c11_broadcast.get();
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return recorded_wait<Call::pthread_cond_wait, ETIMEDOUT>(condition, mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_cond_wait>(&pthread_cond_wait)(condition, mutex);
  });
}

DDPSCOPE_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           const timespec* until) {
  return recorded_wait<Call::pthread_cond_timedwait, ETIMEDOUT>(condition, mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_cond_timedwait>(&pthread_cond_timedwait)(condition, mutex, until);
  });
}

DDPSCOPE_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) {
  return recorded_wait<Call::pthread_cond_clockwait, ETIMEDOUT>(condition, mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_cond_clockwait>(&pthread_cond_clockwait)(condition, mutex, clock, until);
  });
}

DDPSCOPE_EXPORT int pthread_cond_signal(pthread_cond_t* condition) {
  if (!python::is_interpreter(DDPSCOPE_CALL_SITE)) signal_waiters(condition, HandOverKind::kCondition);
  return real_signal.get()(condition);
}

DDPSCOPE_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) {
  if (!python::is_interpreter(DDPSCOPE_CALL_SITE)) signal_waiters(condition, HandOverKind::kCondition);
  return real_broadcast.get()(condition);
}

DDPSCOPE_EXPORT int pthread_cond_destroy(pthread_cond_t* condition) {
  forget_releases(condition);
  return real_destroy.get()(condition);
}

// C11's reach the others inside libc, past the hooks above.

DDPSCOPE_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return recorded_wait<Call::cnd_wait, thrd_timedout>(condition, mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::cnd_wait>(&cnd_wait)(condition, mutex);
  });
}

DDPSCOPE_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return recorded_wait<Call::cnd_timedwait, thrd_timedout>(condition, mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::cnd_timedwait>(&cnd_timedwait)(condition, mutex, until);
  });
}

DDPSCOPE_EXPORT int cnd_signal(cnd_t* condition) {
  signal_waiters(condition, HandOverKind::kCondition);
  return real_c11_signal.get()(condition);
}

DDPSCOPE_EXPORT int cnd_broadcast(cnd_t* condition) {
  signal_waiters(condition, HandOverKind::kCondition);
  return real_c11_broadcast.get()(condition);
}
