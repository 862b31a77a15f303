// Barriers of threads. One that has left may come back for the next round before others have left this one,
// so two rounds are kept apart.
#include <pthread.h>

#include "injector/threads/hand_over.h"

namespace ddpscope::injector {
namespace {

NamedFunction<int(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned)> real_init(
    "pthread_barrier_init");
NamedFunction<int(pthread_barrier_t*)> real_destroy("pthread_barrier_destroy");

// Of how many threads a barrier is, and how many have come to it so far.
struct Known {
  std::atomic<const void*> barrier;
  std::atomic<unsigned> threads;
  std::atomic<std::uint64_t> arrivals;
};
constexpr unsigned kKnownBits = 8;
Known known_barriers[1u << kKnownBits];

Known& place_of(const void* barrier) {
  return known_barriers[reinterpret_cast<std::uint64_t>(barrier) * 0x9E3779B97F4A7C15u >> (64 - kKnownBits)];
}

void meet(const void* barrier, unsigned threads) {
  Known& known = place_of(barrier);
  known.threads.store(threads, std::memory_order_relaxed);
  known.arrivals.store(0, std::memory_order_relaxed);
  known.barrier.store(barrier, std::memory_order_release);
}

// An address for each of two rounds, within the barrier. nullptr: how many threads meet here is not known.
const void* arrive(const void* barrier) {
  Known& known = place_of(barrier);
  unsigned threads = known.threads.load(std::memory_order_relaxed);
  if (known.barrier.load(std::memory_order_acquire) != barrier || !threads) {
    if (trace::FileWriter* file = this_thread.position ? open_recorder() : nullptr)
      file->count(trace::Health::hand_overs_lost);
    return nullptr;
  }
  std::uint64_t round = known.arrivals.fetch_add(1, std::memory_order_acq_rel) / threads;
  return static_cast<const char*>(barrier) + round % 2;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                         unsigned threads) {
  int result = real_init.get()(barrier, attributes, threads);
  if (result == 0) meet(barrier, threads);
  return result;
}

DDPSCOPE_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) {
  const void* round = arrive(barrier);
  if (round) release(round, HandOverKind::kBarrier);
  int result = real<Call::pthread_barrier_wait>(&pthread_barrier_wait)(barrier);
  if (round && (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD))
    took({Call::pthread_barrier_wait, HandOverKind::kBarrier, round, DDPSCOPE_CALL_SITE});
  return result;
}

DDPSCOPE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) {
  for (int round = 0; round < 2; ++round) forget_releases(reinterpret_cast<const char*>(barrier) + round);
  return real_destroy.get()(barrier);
}
