// The tier is decided once a trace; a process whose CUDA is its parent's is not timed.
#include "injector/device_times/timing.h"

#include <stdlib.h>
#include <string.h>

#include "injector/core/hook.h"
#include "injector/device_times/cuda_events.h"
#include "injector/device_times/cupti_session.h"
#include "injector/device_times/event_poller.h"
#include "injector/nccl_profiler/sessions.h"

namespace ddpscope::injector {

constinit TimingTier timing_tier{};

namespace {

enum class Wish { kAuto, kNone, kCupti, kProfiler, kUnknown };
Wish wish;
const char* against_profiler =
    "NCCL has not taken the profiler plugin: it is older than 2.23, or was told to take another one";
bool parent_used_cuda;  // this process was forked by one whose devices were timed
int deciding;           // __atomic, 1: a thread decides

// The environment is read once, before the guest can change it.
__attribute__((constructor(102))) void load() {
  constexpr struct {
    const char* text;
    Wish wish;
  } kWishes[] = {{"", Wish::kAuto},     {"auto", Wish::kAuto},   {"events", Wish::kAuto},
                 {"none", Wish::kNone}, {"cupti", Wish::kCupti}, {"profiler", Wish::kProfiler}};
  const char* text = getenv("DDPSCOPE_GPU_TIMING");
  if (!text) return;
  wish = Wish::kUnknown;
  for (const auto& known : kWishes)
    if (strcmp(text, known.text) == 0) wish = known.wish;
}

const char* name_of(TimingTier tier) {
  if (tier == TimingTier::kEvents) return "events";
  if (tier == TimingTier::kProfiler) return "profiler";
  return tier == TimingTier::kCupti ? "cupti" : "none";
}

void tell(trace::FileWriter& file, TimingTier tier, const char* reason) {
  OwnWork work(&file);
  if (!work) return;
  trace::ThreadWriter& writer = this_thread.writer;
  std::uint32_t tier_id = writer.intern(file, name_of(tier));
  record_moment<Call::device_timing>(file, {tier_id, *reason ? writer.intern(file, reason) : 0});
}

struct Decision {
  TimingTier tier;
  const char* reason;
};

Decision decision(trace::FileWriter& file, Occasion occasion) {
  if (wish == Wish::kNone) return {TimingTier::kNone, "it was asked for"};
  if (parent_used_cuda)
    return {TimingTier::kNone, "the process was forked by one that had used CUDA, which does not work in it"};
  const char* against = "";
  if (wish == Wish::kUnknown)
    against = "DDPSCOPE_GPU_TIMING is not auto, none, events, profiler or cupti: it was taken for auto";
  if (wish == Wish::kProfiler) {
    against = __atomic_load_n(&against_profiler, __ATOMIC_ACQUIRE);
    if (!against) return {TimingTier::kProfiler, ""};
    if (occasion != Occasion::kCollective) return {TimingTier::kUndecided, ""};
  }
  if (wish == Wish::kCupti) {
    against = start_cupti(file);
    if (!against) return {TimingTier::kCupti, ""};
  }
  if (!CudaEvents::found()) return {TimingTier::kNone, "the CUDA runtime's events were not found"};
  return {TimingTier::kEvents, against};
}

}  // namespace

TimingTier decide_tier(trace::FileWriter& file, Occasion occasion) {
  // Whoever comes second goes on untimed for the moment.
  if (__atomic_exchange_n(&deciding, 1, __ATOMIC_ACQUIRE)) return TimingTier::kUndecided;
  TimingTier known = __atomic_load_n(&timing_tier, __ATOMIC_ACQUIRE);
  if (known == TimingTier::kUndecided) {
    Decision decided = decision(file, occasion);
    // CUPTI may have been lent by now, which is told.
    if (decided.tier != TimingTier::kUndecided &&
        __atomic_compare_exchange_n(&timing_tier, &known, decided.tier, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      known = decided.tier;
      tell(file, decided.tier, decided.reason);
    }
  }
  __atomic_store_n(&deciding, 0, __ATOMIC_RELEASE);
  return known;
}

bool wants_device_times() { return wish != Wish::kNone; }
bool wants_profiler() { return wish == Wish::kProfiler; }

void offer_profiler(trace::FileWriter& file, const char* against, bool hooked) {
  __atomic_store_n(&against_profiler, against, __ATOMIC_RELEASE);
  if (wish == Wish::kProfiler) {
    decide_tier(file, Occasion::kIntroduction);
    return;
  }
  TimingTier tier = __atomic_load_n(&timing_tier, __ATOMIC_RELAXED);
  bool idle = tier == TimingTier::kUndecided || (tier == TimingTier::kEvents && !event_poller_runs());
  if (!against && !hooked && idle)
    change_tier(file, TimingTier::kProfiler, "no hook sees this NCCL: it tells its profiler plugin");
}

void change_tier(trace::FileWriter& file, TimingTier tier, const char* reason) {
  if (__atomic_exchange_n(&timing_tier, tier, __ATOMIC_ACQ_REL) != tier) tell(file, tier, reason);
}

void stop_timing(const char* reason) {
  if (trace::FileWriter* file = open_recorder()) change_tier(*file, TimingTier::kNone, reason);
}

void finish_device_times() {
  finish_event_poller();
  finish_cupti();
}

void forget_device_times() {
  parent_used_cuda =
      parent_used_cuda || event_poller_runs() || uses_cupti() || timing_tier == TimingTier::kProfiler;
  forget_event_poller();
  forget_cupti();
  profiler::forget_sessions();
  timing_tier = TimingTier::kUndecided;
  deciding = 0;
}

}  // namespace ddpscope::injector
