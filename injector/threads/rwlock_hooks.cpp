// Read-write locks: as mutexes, but no condition ever waits under one, so they only say what would order two
// threads if every lock counted.
#include <pthread.h>

#include "injector/threads/hand_over.h"

namespace ddpscope::injector {
namespace {

NamedFunction<int(pthread_rwlock_t*)> real_unlock("pthread_rwlock_unlock");
NamedFunction<int(pthread_rwlock_t*)> real_destroy("pthread_rwlock_destroy");

template <Call call, class RealCall>
[[gnu::always_inline]] inline int recorded_lock(const void* lock, std::uintptr_t site, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::HandOver>);
  int result = real_call();
  if (result == 0) took({call, HandOverKind::kReadWriteLock, lock, site});
  return result;
}

__attribute__((constructor(101))) void find_real_functions() {
  real_unlock.get();
  real_destroy.get();
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return recorded_lock<Call::pthread_rwlock_rdlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_rdlock>(&pthread_rwlock_rdlock)(lock);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  return recorded_lock<Call::pthread_rwlock_tryrdlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_tryrdlock>(&pthread_rwlock_tryrdlock)(lock);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) {
  return recorded_lock<Call::pthread_rwlock_timedrdlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_timedrdlock>(&pthread_rwlock_timedrdlock)(lock, until);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) {
  return recorded_lock<Call::pthread_rwlock_clockrdlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_clockrdlock>(&pthread_rwlock_clockrdlock)(lock, clock, until);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return recorded_lock<Call::pthread_rwlock_wrlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_wrlock>(&pthread_rwlock_wrlock)(lock);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  return recorded_lock<Call::pthread_rwlock_trywrlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_trywrlock>(&pthread_rwlock_trywrlock)(lock);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) {
  return recorded_lock<Call::pthread_rwlock_timedwrlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_timedwrlock>(&pthread_rwlock_timedwrlock)(lock, until);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) {
  return recorded_lock<Call::pthread_rwlock_clockwrlock>(lock, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::pthread_rwlock_clockwrlock>(&pthread_rwlock_clockwrlock)(lock, clock, until);
  });
}

DDPSCOPE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  release(lock, HandOverKind::kReadWriteLock);
  return real_unlock.get()(lock);
}

DDPSCOPE_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  forget_releases(lock);
  return real_destroy.get()(lock);
}
