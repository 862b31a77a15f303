// Releases and what is taken from them. A release only leaves the thread's position behind, where there is
// room; the record is written by whoever takes it, and only if it says something new.
#pragma once
#include "injector/core/hook.h"
#include "injector/python/range.h"
#include "injector/threads/releases.h"
#include "trace/hand_overs.h"

namespace ddpscope::injector {

using trace::HandOverKind;

// Where the guest called the hook: of the exported function itself, not of one that it calls.
#define DDPSCOPE_CALL_SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

// What a hook knows of an object that it took or is about to take.
struct Taking {
  Call call;
  HandOverKind kind;
  const void* object;
  std::uintptr_t site;
  std::uint8_t flags = 0;
};

// How far this thread's records had come when it last wrote one: what it hands over. What it took from this
// very object is left out: whoever takes the object next finds that there itself, and two threads that pass a
// mutex to and fro would tell each other for ever what they have just been told.
inline std::uint64_t position_for(std::uint64_t key, const Releases* releases) {
  const ThreadState& thread = this_thread;
  bool echo = thread.echo_key == key && thread.echo_position == thread.position && releases;
  return echo ? thread.before_echo : thread.position;
}

// Before the real unlock, post or arrival at a barrier. Async-signal-safe.
void release_anew(const void* object, HandOverKind kind);
inline void release(const void* object, HandOverKind kind) {
  const ThreadState& thread = this_thread;
  if (!thread.position) return;
  std::uint64_t key = key_of(object);
  if (Releases* known = find_releases(key)) {
    std::uint16_t number = thread.writer.known_number();
    int lane = number ? find_lane(known->threads.load(std::memory_order_relaxed), number) : -1;
    if (lane >= 0 && known->positions[lane].load(std::memory_order_relaxed) == position_for(key, known))
      return;  // nothing was recorded since
  }
  release_anew(object, kind);
}

// Before the real signal, broadcast or wake: counts each time, because only what is signalled during a wait
// ends it.
inline void signal_waiters(const void* object, HandOverKind kind) {
  if (this_thread.position) release_anew(object, kind);
}

// What this thread has just taken from others: it need not be told again.
struct JustTaken {
  Lanes threads = 0;
  std::uint64_t positions[kLanes] = {};
  bool covers(std::uint16_t thread, std::uint64_t position) const {
    int lane = thread ? find_lane(threads, thread) : -1;
    return lane >= 0 && position <= positions[lane];
  }
};

// After the real lock or semaphore wait has succeeded.
void take_news(const Taking& taking, const JustTaken& already = {});
// Whether another thread has released it at all.
inline bool may_have_news(const void* object) {
  const Releases* releases = find_releases(key_of(object));
  if (!releases) return false;
  Lanes threads = releases->threads.load(std::memory_order_acquire);
  std::uint16_t number = this_thread.writer.known_number();
  int own = number ? find_lane(threads, number) : -1;
  return own < 0 ? threads != 0 : (threads & ~lane_mask(own)) != 0;
}
inline void took(const Taking& taking) {
  if (may_have_news(taking.object)) take_news(taking);
}

// A mutex that this thread has locked, and where.
inline HeldMutex& held_mutex(const void* mutex) {
  return this_thread
      .held[reinterpret_cast<std::uint64_t>(mutex) * 0x9E3779B97F4A7C15u >> (64 - kHeldMutexBits)];
}
inline void locked(Call call, const void* mutex, std::uintptr_t site) {
  held_mutex(mutex) = {mutex, site};
  took({call, HandOverKind::kMutex, mutex, site});
}

// A wait for a signal: what had been signalled before it began.
struct Waiting {
  std::uint64_t key;
  Lanes threads;
  Lanes versions;
  std::uint32_t recorded;
  std::uint64_t ticks;
};
Waiting begin_waiting(const void* object);
// It returned because it was woken.
JustTaken woken(const Waiting& waiting, const Taking& taking);

// A condition wait gives the mutex up: a release, and the site at which it was locked is a waiting site.
void give_up_mutex(const void* mutex);

}  // namespace ddpscope::injector
