// By which means this process times what its devices do.
#pragma once
#include "injector/core/process.h"

namespace ddpscope::injector {

enum class TimingTier : int {
  kUndecided,
  kNone,
  kEvents,    // pairs of events around collectives, on their streams
  kCupti,     // all that devices do, by CUPTI's activity records
  kProfiler,  // collectives, as NCCL tells its profiler plugin
};

extern TimingTier timing_tier;  // __atomic; of the open trace

// Decides as DDPSCOPE_GPU_TIMING wishes (none, events, profiler, cupti; all else is auto, which is events),
// and tells it in the trace, with why where it is not what was wished for. By a thread that has used CUDA, so
// that it works. NCCL introduces its communicators to its profiler plugin: before the first collective that
// is not decided.
enum class Occasion { kFirstUse, kIntroduction, kCollective };
TimingTier decide_tier(trace::FileWriter& file, Occasion occasion);
inline void decide_tier_once(trace::FileWriter& file) {
  if (__atomic_load_n(&timing_tier, __ATOMIC_RELAXED) == TimingTier::kUndecided)
    decide_tier(file, Occasion::kFirstUse);
}
// Whether collectives are to be timed by events.
inline bool times_by_events(trace::FileWriter& file) {
  TimingTier tier = __atomic_load_n(&timing_tier, __ATOMIC_RELAXED);
  if (__builtin_expect(tier == TimingTier::kUndecided, 0)) tier = decide_tier(file, Occasion::kCollective);
  return tier == TimingTier::kEvents;
}

bool wants_device_times();  // anything but none
bool wants_profiler();      // NCCL's profiler interface was asked for
// NCCL has introduced a communicator. `against`: why that does not serve for times; nullptr: it does, and it
// is the tier from now on if it was asked for, or is all there is as no hook sees this NCCL.
void offer_profiler(trace::FileWriter& file, const char* against, bool hooked);

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
