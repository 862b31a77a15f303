// One process's stream and event calls, replayed in time order: what is enqueued behind what, and what each
// wait of the host covers.
#pragma once
#include <cstdint>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/streams.h"

namespace ddpscope::ordering {

// A call of the host that waits for the device or asks whether it is done.
struct HostCall {
  std::int64_t begin_ns;
  const trace::Record* record;
  model::EventPlace place;
  trace::Operation operation;
  bool by_luck = false;  // a query that said "done", and that its program may not have waited for otherwise
};

class DeviceEvents {
 public:
  virtual ~DeviceEvents() = default;
  // The collective is about to stand in this stream, behind what `before` covers.
  virtual void enqueued(std::uint32_t call, StreamNumber stream, const Cover& before) = 0;
  // done: it returned and said that all of `cover` is complete.
  virtual void waited(const HostCall& wait, const Cover& cover, bool done) = 0;
};

// Source of the rules: CUDA's stream and event semantics. A stream depends on what was enqueued to it and,
// through a wait for an event, on what that event's stream depended on when the event was recorded; the
// legacy stream of a device depends on its blocking streams. Waits: stream, event and device synchronize, a
// query that says done (of those that PyTorch's process groups make for themselves: WorkEvents), copies that
// return only when they are done; and copies that have not returned.
void replay_device(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process,
                   DeviceEvents& events);

// cudaMemcpy and its synchronous kin return when the copy is done; others only enqueue it. trace::Call.
bool is_synchronous_copy(std::uint16_t call);

// Calls of the host that do nothing but wait for the device.
constexpr trace::OperationSet kDeviceWaits{trace::Operation::kDeviceWait, trace::Operation::kStreamWait,
                                           trace::Operation::kEventWait};

}  // namespace ddpscope::ordering
