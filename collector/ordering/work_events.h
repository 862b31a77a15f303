// The events by which PyTorch's process group on NCCL knows that an operation is complete.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "collector/ordering/group_calls.h"

namespace ddpscope::ordering {

// What follows for the thread whose query of an event said "done".
enum class Asked : std::uint8_t {
  kWaits,        // its program would have waited, too, had it not been done
  kStreamWaits,  // its program goes on either way: only streams of the event's device come after it
  kMayWait,      // either of the two
};

// Source: wait() of a work in PyTorch 2.15 (c10d::nccl2). It asks the event first. Only if that is not done
// the current stream waits for it, and after a barrier the host waits for the stream of its current device.
// So that a query says "done" is luck, unless a barrier's event is of the current device. Each later
// operation asks about the events of earlier ones, too, and waits for none.
class WorkEvents {
 public:
  WorkEvents(const model::Job& job, std::uint32_t process);

  // In the order of begin: an event that is recorded, and one that is asked about.
  void recorded(std::uint64_t event, std::uint16_t thread, std::int64_t ns, std::uint8_t device);
  Asked asked(std::uint64_t event, std::uint16_t thread, std::int64_t ns, std::uint8_t current_device,
              bool done);
  // Of the stream in which the event was recorded last. Only after asked() has not said kWaits.
  std::uint8_t device_of(std::uint64_t event) const { return events_.at(event).device; }

 private:
  struct Event {
    const GroupCall* call;  // in which it was recorded
    std::uint16_t thread;
    std::uint8_t device;
    bool asked_in_vain = false;  // by its own thread, outside of calls
  };

  bool host_waits_;  // for each work (TORCH_NCCL_BLOCKING_WAIT)
  GroupCalls calls_;
  std::unordered_map<std::uint64_t, Event> events_;  // that were recorded in a call of a process group
};

}  // namespace ddpscope::ordering
