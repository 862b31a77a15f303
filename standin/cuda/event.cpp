// Events: a point in a stream, captured at record. Waiting for one means waiting for the point of its latest
// record, so recording it again or destroying it does not disturb those who wait already.
#include "standin/cuda/event.h"

#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/shared_event.h"

using namespace ddpscope::standin;

namespace {

std::atomic<std::uint32_t> events_made{0};
std::atomic<std::uint64_t> observed_records{0};

Work stamp(const EventTime& time) {
  return [time] { *time = EventClock::now().time_since_epoch().count(); };
}

Synchronization describe(const Event& event, const Record& record) {
  return {.kind = Synchronization::kEvent,
          .device = event.device().ordinal(),
          .event = event.id(),
          .record = record.id};
}

HandleTable<cudaEvent_t, Event>& events() {
  static auto* table = new HandleTable<cudaEvent_t, Event>;
  return *table;
}

}  // namespace

namespace ddpscope::standin {

Event::Event(Device& device, unsigned flags)
    : device_(device), timed_(!(flags & cudaEventDisableTiming)), id_(++events_made) {}

Event::Event(Device& device, std::shared_ptr<SharedEvent> shared)
    : device_(device), timed_(false), id_(++events_made), shared_(std::move(shared)) {}

Record Event::fresh_record() const {
  Record record;
  record.made = true;
  if (observer()) record.id = ++observed_records;
  if (timed_) record.time = std::make_shared<std::atomic<EventClock::rep>>(0);
  return record;
}

void Event::record(const StreamRef& stream, bool external) {
  require(&stream->device() == &device_, cudaErrorInvalidResourceHandle);
  if (captures_run()) [[unlikely]] {
    if (external &&
        capture_node(*stream, {.type = cudaGraphNodeTypeEventRecord, .event = shared_from_this()}))
      return;
    if (auto point = captured_point(*stream)) {
      std::lock_guard lock(mutex_);
      latest_ = Record{.mark = {}, .time = nullptr, .made = true, .id = 0, .captured = std::move(point)};
      return;
    }
  }
  if (shared_) {
    std::lock_guard lock(mutex_);
    submit(stream, shared_->record());
    return;
  }
  Record record = fresh_record();
  std::lock_guard lock(mutex_);  // over the submission: records of two threads stay in one order
  record.mark = submit(stream, timed_ ? stamp(record.time) : Work{});
  latest_ = std::move(record);
}

Work Event::record_in_graph() {
  if (shared_) return shared_->record();
  Record record = fresh_record();
  const auto gate = std::make_shared<Gate>();
  record.mark.point = gate;
  Work came_by = [gate, time = record.time] {
    if (time) stamp(time)();
    gate->open();
  };
  std::lock_guard lock(mutex_);
  latest_ = std::move(record);
  return came_by;
}

Record Event::latest() {
  if (shared_) {
    Record record;
    record.mark.point = shared_->latest();
    record.made = record.mark.point != nullptr;
    return record;
  }
  std::lock_guard lock(mutex_);
  return latest_;
}

cudaEvent_t add_event(std::shared_ptr<Event> event) { return events().add(std::move(event)); }

std::shared_ptr<Event> find_event(cudaEvent_t handle) { return events().find(handle); }

}  // namespace ddpscope::standin

extern "C" {

RUNTIME_API(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), (event, flags)) {
  return enter([&] {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    require(event != nullptr && (flags & ~kKnown) == 0, cudaErrorInvalidValue);
    const bool shared = flags & cudaEventInterprocess;
    require(!shared || (flags & cudaEventDisableTiming), cudaErrorInvalidValue);
    *event = events().add(shared ? std::make_shared<Event>(current_device(), SharedEvent::make())
                                 : std::make_shared<Event>(current_device(), flags));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaEventCreate, (cudaEvent_t * event), (event)) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

RUNTIME_API(cudaEventDestroy, (cudaEvent_t event), (event)) {
  return enter([&] {
    events().take(event);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
            (event, stream, flags)) {
  return enter([&] {
    require((flags & ~cudaEventRecordExternal) == 0, cudaErrorInvalidValue);
    events().find(event)->record(find_stream(stream), flags & cudaEventRecordExternal);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream)) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

RUNTIME_API(cudaEventQuery, (cudaEvent_t event), (event)) {
  return enter([&] {
    const std::shared_ptr<Event> asked = events().find(event);
    const Record record = asked->latest();
    refuse_captured(record);
    WaitScope wait([&] { return describe(*asked, record); });
    return wait.result(record.mark.reached() ? cudaSuccess : cudaErrorNotReady);
  });
}

RUNTIME_API(cudaEventSynchronize, (cudaEvent_t event), (event)) {
  return enter([&] {
    const std::shared_ptr<Event> awaited = events().find(event);
    const Record record = awaited->latest();
    refuse_captured(record);
    WaitScope wait([&] { return describe(*awaited, record); });
    record.mark.wait();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
            (stream, event, flags)) {
  return enter([&] {
    require((flags & ~cudaEventWaitExternal) == 0, cudaErrorInvalidValue);
    const StreamRef waiting = find_stream(stream);
    const std::shared_ptr<Event> awaited = events().find(event);
    Record record = awaited->latest();
    if ((captures_run() || record.captured) &&
        capture_wait(waiting, awaited, record, flags & cudaEventWaitExternal))
      return cudaSuccess;
    WaitScope wait([&] {
      Synchronization described = describe(*awaited, record);
      described.kind = Synchronization::kStreamWait;
      described.stream = waiting->id();
      return described;
    });
    if (!record.mark.reached()) submit(waiting, {}, {std::move(record.mark)});
    return cudaSuccess;
  });
}

RUNTIME_API(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
            (milliseconds, start, end)) {
  return enter([&] {
    require(milliseconds != nullptr, cudaErrorInvalidValue);
    const Record first = events().find(start)->latest();
    const Record second = events().find(end)->latest();
    require(!first.captured && !second.captured, cudaErrorCapturedEvent);
    require(first.made && first.time && second.made && second.time, cudaErrorInvalidResourceHandle);
    require(first.mark.reached() && second.mark.reached(), cudaErrorNotReady);
    const EventClock::duration elapsed{*second.time - *first.time};
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return cudaSuccess;
  });
}

}  // extern "C"
