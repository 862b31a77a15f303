// Collectives that are timed: by events around the call or, in a group, around the ncclGroupEnd that enqueues
// them; by what NCCL tells its profiler plugin while the call, or that end, runs.
#pragma once
#include <nccl.h>

#include "injector/core/hook.h"
#include "injector/device_times/event_pairs.h"
#include "injector/device_times/timing.h"
#include "injector/nccl_profiler/operations.h"
#include "injector/nccl_profiler/sessions.h"

namespace ddpscope::injector {

class TimedCollective {
 public:
  // `open`: its record, whose payload is a Collective; nothing is timed without one.
  TimedCollective(const OpenRecord& open, cudaStream_t stream) {
    trace::FileWriter* file = file_of(open);
    if (!file) return;
    bool told = __builtin_expect(__atomic_load_n(&profiler::any_session, __ATOMIC_RELAXED), 0);
    if (told || times_by_events(*file)) begin(*file, open, stream, told);
  }
  // It goes into a graph. Before version 5 NCCL does not say so.
  void note_captured() {
    if (told_) profiler::mark_captured(this_thread.asking);
  }
  // After the real call. A non-blocking communicator (ncclInProgress) enqueues later: that cannot be timed
  // so.
  void end(ncclResult_t result) {
    if (begun_) end_all(result);
  }

 private:
  // `told`: NCCL tells its profiler plugin what it does.
  void begin(trace::FileWriter& file, const OpenRecord& open, cudaStream_t stream, bool told);
  void begin_events(const OpenRecord& open, cudaStream_t stream);
  void end_all(ncclResult_t result);

  bool begun_ = false, told_ = false;
  EventPair* pair_ = nullptr;
  EnqueuedCollectives collectives_{};
  std::uint64_t called_ = 0;
};

class TimedGroup {
 public:
  explicit TimedGroup(bool outermost) : outermost_(outermost) {
    if (outermost && (this_thread.group.timed || this_thread.group.untimed)) begin();
  }
  void end(ncclResult_t result) {
    if (outermost_ && this_thread.group.timed) end_all(result);
    if (outermost_ && this_thread.asked) this_thread.asked = 0;
  }

 private:
  void begin();
  void end_all(ncclResult_t result);

  bool outermost_;
};

}  // namespace ddpscope::injector
