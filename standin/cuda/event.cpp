// Events: a point in a stream, captured at record. Waiting for one means waiting for the point of its latest
// record, so recording it again or destroying it does not disturb those who wait already.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

using Clock = std::chrono::steady_clock;

struct Record {
  Mark mark;
  std::shared_ptr<std::atomic<Clock::rep>> time;  // when the stream came by; null without timing
  bool made = false;
  std::uint64_t id = 0;  // for an observer; 0: none looked on
};

std::atomic<std::uint32_t> events_made{0};
std::atomic<std::uint64_t> observed_records{0};

class Event {
 public:
  Event(Device& device, unsigned flags)
      : device_(device), timed_(!(flags & cudaEventDisableTiming)), id_(++events_made) {}

  const Device& device() const { return device_; }
  std::uint32_t id() const { return id_; }

  void record(const StreamRef& stream) {
    require(&stream->device() == &device_, cudaErrorInvalidResourceHandle);
    Record record;
    record.made = true;
    if (observer()) record.id = ++observed_records;
    Work stamp;
    if (timed_) {
      record.time = std::make_shared<std::atomic<Clock::rep>>(0);
      stamp = [time = record.time] { *time = Clock::now().time_since_epoch().count(); };
    }
    std::lock_guard lock(mutex_);  // over the submission: records of two threads stay in one order
    record.mark = submit(stream, std::move(stamp));
    latest_ = std::move(record);
  }

  Record latest() {
    std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  Device& device_;
  const bool timed_;
  const std::uint32_t id_;
  std::mutex mutex_;
  Record latest_;
};

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

extern "C" {

RUNTIME_API(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), (event, flags)) {
  return enter([&] {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    require(event != nullptr && (flags & ~kKnown) == 0, cudaErrorInvalidValue);
    if (flags & cudaEventInterprocess) return cudaErrorNotSupported;
    *event = events().add(std::make_shared<Event>(current_device(), flags));
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
    events().find(event)->record(find_stream(stream));
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
    WaitScope wait([&] { return describe(*asked, record); });
    return wait.result(record.mark.reached() ? cudaSuccess : cudaErrorNotReady);
  });
}

RUNTIME_API(cudaEventSynchronize, (cudaEvent_t event), (event)) {
  return enter([&] {
    const std::shared_ptr<Event> awaited = events().find(event);
    const Record record = awaited->latest();
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
    require(first.made && first.time && second.made && second.time, cudaErrorInvalidResourceHandle);
    require(first.mark.reached() && second.mark.reached(), cudaErrorNotReady);
    const Clock::duration elapsed{*second.time - *first.time};
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return cudaSuccess;
  });
}

}  // extern "C"
