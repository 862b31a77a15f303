// A thread of the injector's own in a process that uses CUDA: hidden from the guest's signals and from the
// trace.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// In static storage; zero-initialised means: never started.
class OwnThread {
 public:
  // Once: `run` is called in it. False: it cannot be had, or it has ended.
  bool start(void* (*run)(void*));
  bool was_started() const { return phase() != Phase::kNone && phase() != Phase::kFailed; }

  // Called by the thread: waits so long, or until it is to finish. False: it is to finish.
  bool goes_on_after(std::uint64_t ns);
  void end();  // its last call

  // Called by others: it is to finish. Waits for that no longer than so long.
  void finish(std::uint64_t ns);
  void forget() { phase_ = Phase::kNone; }  // after fork: it is the parent's

 private:
  enum class Phase : std::uint32_t { kNone, kRuns, kFinishing, kGone, kFailed };
  Phase phase() const { return __atomic_load_n(&phase_, __ATOMIC_ACQUIRE); }
  void set(Phase phase);
  void wait_while(Phase phase, std::uint64_t ns);

  Phase phase_;  // __atomic, a futex
};

}  // namespace ddpscope::injector
