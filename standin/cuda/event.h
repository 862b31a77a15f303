// An event: a point in a stream, or in a graph, as it was when it was recorded.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "standin/cuda/capture.h"
#include "standin/cuda/device.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

class SharedEvent;

using EventClock = std::chrono::steady_clock;
using EventTime = std::shared_ptr<std::atomic<EventClock::rep>>;

struct Record {
  Mark mark;
  EventTime time;  ///< when the stream came by; null without timing
  bool made = false;
  std::uint64_t id = 0;                           ///< for an observer; 0: none looked on
  std::shared_ptr<const CapturedPoint> captured;  ///< made in a stream that captured: nothing comes by here
};

class Event : public std::enable_shared_from_this<Event> {
 public:
  Event(Device& device, unsigned flags);
  Event(Device& device, std::shared_ptr<SharedEvent> shared);

  const Device& device() const { return device_; }
  std::uint32_t id() const { return id_; }

  /// `external`: in a stream that captures it becomes a node, which records each time the graph runs.
  void record(const StreamRef& stream, bool external);

  /// Recorded by a graph that is being launched; whoever runs it calls what is returned when it comes by.
  Work record_in_graph();

  Record latest();

  const SharedEvent* shared() const { return shared_.get(); }  ///< null: of this process only

 private:
  Record fresh_record() const;

  Device& device_;
  const bool timed_;
  const std::uint32_t id_;
  const std::shared_ptr<SharedEvent> shared_;
  std::mutex mutex_;
  Record latest_;
};

cudaEvent_t add_event(std::shared_ptr<Event> event);

inline cudaEvent_t handle_of(const Event& event) {
  return reinterpret_cast<cudaEvent_t>(const_cast<Event*>(&event));
}

/// Fails with cudaErrorInvalidResourceHandle.
std::shared_ptr<Event> find_event(cudaEvent_t handle);

}  // namespace ddpscope::standin
