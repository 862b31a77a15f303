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
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

using Clock = std::chrono::steady_clock;

struct Record {
  Mark mark;
  std::shared_ptr<std::atomic<Clock::rep>> time;  // when the stream came by; null without timing
  bool made = false;
};

class Event {
 public:
  Event(Device& device, unsigned flags) : device_(device), timed_(!(flags & cudaEventDisableTiming)) {}

  void record(const StreamRef& stream) {
    require(&stream->device() == &device_, cudaErrorInvalidResourceHandle);
    Record record;
    record.made = true;
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
  std::mutex mutex_;
  Record latest_;
};

HandleTable<cudaEvent_t, Event>& events() {
  static auto* table = new HandleTable<cudaEvent_t, Event>;
  return *table;
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return enter([&] {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    require(event != nullptr && (flags & ~kKnown) == 0, cudaErrorInvalidValue);
    if (flags & cudaEventInterprocess) return cudaErrorNotSupported;
    *event = events().add(std::make_shared<Event>(current_device(), flags));
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return enter([&] {
    events().take(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return enter([&] {
    require((flags & ~cudaEventRecordExternal) == 0, cudaErrorInvalidValue);
    events().find(event)->record(find_stream(stream));
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return enter(
      [&] { return events().find(event)->latest().mark.reached() ? cudaSuccess : cudaErrorNotReady; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return enter([&] {
    events().find(event)->latest().mark.wait();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return enter([&] {
    require((flags & ~cudaEventWaitExternal) == 0, cudaErrorInvalidValue);
    const StreamRef waiting = find_stream(stream);
    Mark mark = events().find(event)->latest().mark;
    if (!mark.reached()) submit(waiting, {}, {std::move(mark)});
    return cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
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
