// Mutexes: what was released under one is known to whoever locks it next.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "injector/threads/hand_over.h"

namespace ddpscope::injector {
namespace {

NamedFunction<int(pthread_mutex_t*)> real_unlock("pthread_mutex_unlock");
NamedFunction<int(pthread_mutex_t*)> real_destroy("pthread_mutex_destroy");
NamedFunction<int(mtx_t*)> real_c11_unlock("mtx_unlock");

template <Call call, class RealCall>
[[gnu::always_inline]] inline int recorded_lock(const void* mutex, std::uintptr_t site, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::HandOver>);
  int result = real_call();
  // EOWNERDEAD: locked all the same, its owner died with it.
  if ((result == 0 || result == EOWNERDEAD) && !python::is_interpreter(site)) locked(call, mutex, site);
  return result;
}

template <Call call, class RealCall>
[[gnu::always_inline]] inline int recorded_c11_lock(const void* mutex, std::uintptr_t site,
                                                    RealCall real_call) {
  int result = real_call();
  if (result == thrd_success) locked(call, mutex, site);
  return result;
}

// Allocators lock mutexes: nothing may be looked up then.
__attribute__((constructor(101))) void find_real_functions() {
  real_unlock.get();
  real_destroy.get();
  real_c11_unlock.get();
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  return recorded_lock<Call::pthread_mutex_lock>(
      mutex, DDPSCOPE_CALL_SITE, [&] { return real<Call::pthread_mutex_lock>(&pthread_mutex_lock)(mutex); });
}

DDPSCOPE_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  return recorded_lock<Call::pthread_mutex_trylock>(mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_mutex_trylock>(&pthread_mutex_trylock)(mutex);
  });
}

DDPSCOPE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  return recorded_lock<Call::pthread_mutex_timedlock>(mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_mutex_timedlock>(&pthread_mutex_timedlock)(mutex, until);
  });
}

DDPSCOPE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return recorded_lock<Call::pthread_mutex_clocklock>(mutex, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_mutex_clocklock>(&pthread_mutex_clocklock)(mutex, clock, until);
  });
}

DDPSCOPE_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (!python::is_interpreter(DDPSCOPE_CALL_SITE)) release(mutex, HandOverKind::kMutex);
  return real_unlock.get()(mutex);
}

DDPSCOPE_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  forget_releases(mutex);
  return real_destroy.get()(mutex);
}

// C11's reach the others inside libc, past the hooks above.

DDPSCOPE_EXPORT int mtx_lock(mtx_t* mutex) {
  return recorded_c11_lock<Call::mtx_lock>(mutex, DDPSCOPE_CALL_SITE,
                                           [&] { return real<Call::mtx_lock>(&mtx_lock)(mutex); });
}

DDPSCOPE_EXPORT int mtx_trylock(mtx_t* mutex) {
  return recorded_c11_lock<Call::mtx_trylock>(mutex, DDPSCOPE_CALL_SITE,
                                              [&] { return real<Call::mtx_trylock>(&mtx_trylock)(mutex); });
}

DDPSCOPE_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return recorded_c11_lock<Call::mtx_timedlock>(
      mutex, DDPSCOPE_CALL_SITE, [&] { return real<Call::mtx_timedlock>(&mtx_timedlock)(mutex, until); });
}

DDPSCOPE_EXPORT int mtx_unlock(mtx_t* mutex) {
  release(mutex, HandOverKind::kMutex);
  return real_c11_unlock.get()(mutex);
}
