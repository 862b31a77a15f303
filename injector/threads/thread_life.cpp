// A table by handle: of two threads that share a place the later one is known.
#include "injector/threads/thread_life.h"

#include <atomic>

#include "injector/core/thread_state.h"

namespace ddpscope::injector {
namespace {

struct Life {
  std::atomic<pthread_t> handle{};
  std::atomic<std::uint32_t> number{};
};
constexpr unsigned kLifeBits = 12;
constinit Life lives[1u << kLifeBits]{};

Life& life_of(pthread_t handle) { return lives[handle * 0x9E3779B97F4A7C15u >> (64 - kLifeBits)]; }

}  // namespace

void note_thread_start() {
  pthread_t self = pthread_self();
  Life& life = life_of(self);
  life.number.store(0, std::memory_order_relaxed);
  life.handle.store(self, std::memory_order_release);
}

void note_thread_end() {
  pthread_t self = pthread_self();
  Life& life = life_of(self);
  if (life.handle.load(std::memory_order_acquire) == self)
    life.number.store(this_thread.writer.known_number(), std::memory_order_release);
}

std::uint32_t number_of_ended(pthread_t handle) {
  Life& life = life_of(handle);
  return life.handle.load(std::memory_order_acquire) == handle ? life.number.load(std::memory_order_acquire)
                                                               : 0;
}

}  // namespace ddpscope::injector
