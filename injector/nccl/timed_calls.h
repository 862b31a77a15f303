// Collectives that are timed by events: around the call or, in a group, around the ncclGroupEnd that enqueues
// them.
#pragma once
#include <nccl.h>

#include "injector/core/hook.h"
#include "injector/cuda/device.h"
#include "injector/device_times/event_pairs.h"
#include "injector/device_times/timing.h"

namespace ddpscope::injector {

class TimedCollective {
 public:
  // `open`: its record, whose payload is a Collective; nothing is timed without one.
  TimedCollective(const OpenRecord& open, cudaStream_t stream) {
    trace::FileWriter* file = file_of(open);
    if (!file || !times_by_events(*file)) return;
    begin(open, stream);
  }
  // After the real call. A non-blocking communicator (ncclInProgress) enqueues later: that cannot be timed
  // so.
  void end(ncclResult_t result) {
    if (pair_) end_pair(pair_, collectives_, called_, result == ncclSuccess);
  }

 private:
  void begin(const OpenRecord& open, cudaStream_t stream);

  EventPair* pair_ = nullptr;
  EnqueuedCollectives collectives_{};
  std::uint64_t called_ = 0;
};

class TimedGroup {
 public:
  explicit TimedGroup(bool outermost) : outermost_(outermost) {
    if (outermost && (this_thread.grouped.used | this_thread.grouped.untimed)) begin();
  }
  void end(ncclResult_t result) {
    if (outermost_ && this_thread.grouped.used) end_all(result);
  }

 private:
  void begin();
  void end_all(ncclResult_t result);

  bool outermost_;
  EventPair* pairs_[GroupedCollectives::kRuns] = {};
};

}  // namespace ddpscope::injector
