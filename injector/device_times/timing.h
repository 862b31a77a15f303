// By which means this process times what its devices do.
#pragma once
#include "injector/core/process.h"

namespace ddpscope::injector {

enum class TimingTier : int {
  kUndecided,
  kNone,
  kEvents,  // pairs of events around collectives, on their streams
  kCupti,   // all that devices do, by CUPTI's activity records
};

extern TimingTier timing_tier;  // __atomic; of the open trace

// Decides as DDPSCOPE_GPU_TIMING wishes (none, events, cupti; all else is auto, which is events), and tells
// it in the trace. By a thread that has used CUDA, so that it works.
TimingTier decide_tier(trace::FileWriter& file);
inline void decide_tier_once(trace::FileWriter& file) {
  if (__atomic_load_n(&timing_tier, __ATOMIC_RELAXED) == TimingTier::kUndecided) decide_tier(file);
}
// Whether collectives are to be timed by events.
inline bool times_by_events(trace::FileWriter& file) {
  TimingTier tier = __atomic_load_n(&timing_tier, __ATOMIC_RELAXED);
  if (__builtin_expect(tier == TimingTier::kUndecided, 0)) tier = decide_tier(file);
  return tier == TimingTier::kEvents;
}

// From now on it is this one; the trace says why.
void change_tier(trace::FileWriter& file, TimingTier tier, const char* reason);

// From now on nothing is timed, and the trace says why.
void stop_timing(const char* reason);

// The process ends by itself: what devices have finished is written down. Waits for that a twentieth of a
// second at most.
void finish_device_times();

// In the child of fork(): CUDA does not work in the child of a process that has used it.
void forget_device_times();

}  // namespace ddpscope::injector
