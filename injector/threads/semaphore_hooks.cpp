// Semaphores of one process and of several. Python's locks are semaphores: theirs count like all others.
#include <errno.h>
#include <semaphore.h>

#include "injector/threads/hand_over.h"
#include "injector/threads/shared_semaphores.h"

namespace ddpscope::injector {
namespace {

NamedFunction<int(sem_t*, int, unsigned)> real_init("sem_init");
NamedFunction<int(sem_t*)> real_destroy("sem_destroy");
NamedFunction<int(sem_t*)> real_close("sem_close");

// Who waits for a semaphore of several processes works for one of them: a loader's worker before its first
// sample.
OpenRecord begin_shared_wait(const sem_t* semaphore) {
  if (inside_vendor_call()) return {};
  return begin<Call::shared_sem_wait>(Weight::kOpens, identify(semaphore), Stack::kFirst);
}

void end_shared_wait(const OpenRecord& record, int result) {
  if (auto* payload = result_of<Call::shared_sem_wait>(record)) payload->error = result ? errno : 0;
  end(record);
}

#pragma weak sem_getvalue  // before glibc 2.34 it may be loaded later than we are

// With tokens left, the one that was taken may be an older post's or one that it began with.
std::uint8_t certainty(sem_t* semaphore) {
  int tokens = 0;
  if (!sem_getvalue) return trace::kUncertain;
  return sem_getvalue(semaphore, &tokens) == 0 && tokens > 0 ? trace::kUncertain : 0;
}

void took_semaphore(Call call, sem_t* semaphore, std::uintptr_t site) {
  if (may_have_news(semaphore))
    take_news({call, HandOverKind::kSemaphore, semaphore, site, certainty(semaphore)});
}

template <Call call, class RealCall>
inline int recorded_wait(sem_t* semaphore, std::uintptr_t site, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::HandOver>);
  if (is_shared(semaphore)) {
    OpenRecord record = begin_shared_wait(semaphore);
    int result = real_call();
    end_shared_wait(record, result);
    return result;
  }
  int result = real_call();
  if (result == 0) took_semaphore(call, semaphore, site);
  return result;
}

// sem_post may be called in a signal handler: nothing may be left to look up.
__attribute__((constructor(101))) void find_real_functions() {
  real_init.get();
  real_destroy.get();
  real_close.get();
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int sem_post(sem_t* semaphore) {
  if (!is_shared(semaphore)) {
    release(semaphore, HandOverKind::kSemaphore);
    return real<Call::sem_post>(&sem_post)(semaphore);
  }
  OpenRecord record;
  if (!inside_vendor_call())
    record = begin<Call::sem_post>(Weight::kFollows, identify(semaphore), Stack::kFirst);
  int result = real<Call::sem_post>(&sem_post)(semaphore);
  if (auto* payload = result_of<Call::sem_post>(record)) payload->error = result ? errno : 0;
  end(record);
  return result;
}

DDPSCOPE_EXPORT int sem_wait(sem_t* semaphore) {
  return recorded_wait<Call::sem_wait>(semaphore, DDPSCOPE_CALL_SITE,
                                       [&] { return real<Call::sem_wait>(&sem_wait)(semaphore); });
}

DDPSCOPE_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return recorded_wait<Call::sem_timedwait>(semaphore, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::sem_timedwait>(&sem_timedwait)(semaphore, until);
  });
}

DDPSCOPE_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return recorded_wait<Call::sem_clockwait>(semaphore, DDPSCOPE_CALL_SITE, [&] {
    return real<Call::sem_clockwait>(&sem_clockwait)(semaphore, clock, until);
  });
}

// Polled: only the try that took it is told.
DDPSCOPE_EXPORT int sem_trywait(sem_t* semaphore) {
  int result = real<Call::sem_trywait>(&sem_trywait)(semaphore);
  if (result != 0) return result;
  if (is_shared(semaphore))
    end_shared_wait(begin_shared_wait(semaphore), 0);
  else
    took_semaphore(Call::sem_trywait, semaphore, DDPSCOPE_CALL_SITE);
  return result;
}

DDPSCOPE_EXPORT int sem_init(sem_t* semaphore, int shared, unsigned value) {
  forget_releases(semaphore);
  forget_identity(semaphore);
  return real_init.get()(semaphore, shared, value);
}

DDPSCOPE_EXPORT int sem_destroy(sem_t* semaphore) {
  forget_releases(semaphore);
  return real_destroy.get()(semaphore);
}

DDPSCOPE_EXPORT int sem_close(sem_t* semaphore) {
  forget_identity(semaphore);
  return real_close.get()(semaphore);
}
