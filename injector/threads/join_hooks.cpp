// The end of a thread, awaited. One that is detached hands nothing over.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "injector/core/hook.h"
#include "injector/threads/thread_life.h"

namespace ddpscope::injector {
namespace {

template <Call call>
OpenRecord begin_join(pthread_t thread) {
  trace::payload::ThreadLife life{};
  life.handle = thread;
  return inside_vendor_call() ? OpenRecord{} : begin<call>(Weight::kFollows, life, Stack::kTaken);
}

template <Call call>
void end_join(const OpenRecord& record, pthread_t thread, int error) {
  if (auto* life = result_of<call>(record)) {
    life->other = error ? 0 : number_of_ended(thread);
    life->error = error;
  }
  end(record);
}

template <Call call, class RealCall>
int recorded_join(pthread_t thread, RealCall real_call) {
  OpenRecord record = begin_join<call>(thread);
  int error = real_call();
  end_join<call>(record, thread, error);
  return error;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_join(pthread_t thread, void** result) {
  return recorded_join<Call::pthread_join>(
      thread, [&] { return real<Call::pthread_join>(&pthread_join)(thread, result); });
}

DDPSCOPE_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* until) {
  return recorded_join<Call::pthread_timedjoin_np>(
      thread, [&] { return real<Call::pthread_timedjoin_np>(&pthread_timedjoin_np)(thread, result, until); });
}

DDPSCOPE_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                         const timespec* until) {
  return recorded_join<Call::pthread_clockjoin_np>(thread, [&] {
    return real<Call::pthread_clockjoin_np>(&pthread_clockjoin_np)(thread, result, clock, until);
  });
}

// Polled: only the try that found the end is told.
DDPSCOPE_EXPORT int pthread_tryjoin_np(pthread_t thread, void** result) {
  int error = real<Call::pthread_tryjoin_np>(&pthread_tryjoin_np)(thread, result);
  if (!error) end_join<Call::pthread_tryjoin_np>(begin_join<Call::pthread_tryjoin_np>(thread), thread, error);
  return error;
}

DDPSCOPE_EXPORT int thrd_join(thrd_t thread, int* result) {
  OpenRecord record = begin_join<Call::thrd_join>(thread);
  int outcome = real<Call::thrd_join>(&thrd_join)(thread, result);
  end_join<Call::thrd_join>(record, thread, outcome == thrd_success ? 0 : EINVAL);
  return outcome;
}
