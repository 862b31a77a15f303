// Brings batches to the device: two pinned buffers, so that one is filled while the other is copied.
#pragma once

#include <array>
#include <cstdint>

#include "device.h"

namespace reference_trainer {

class BatchFeed {
 public:
  // `tokens`: of one batch.
  BatchFeed(size_t tokens, cudaStream_t stream) : slots_{Slot(tokens), Slot(tokens)}, stream_(stream) {}

  // Where to put the next batch; the host waits until the copy from there is done.
  std::span<int32_t> fill() {
    next_ = (next_ + 1) % slots_.size();
    slots_[next_].copied.synchronize();
    return slots_[next_].host.span();
  }

  // Starts the copy of what was filled; valid on the stream until fill() has been called twice.
  const int32_t* copy() {
    Slot& slot = slots_[next_];
    check(cudaMemcpyAsync(slot.device.data(), slot.host.data(), slot.device.bytes(), cudaMemcpyHostToDevice,
                          stream_));
    slot.copied.record(stream_);
    return slot.device.data();
  }

 private:
  struct Slot {
    explicit Slot(size_t tokens) : host(tokens), device(tokens) {}
    PinnedBuffer<int32_t> host;
    DeviceBuffer<int32_t> device;
    Event copied;
  };
  std::array<Slot, 2> slots_;
  cudaStream_t stream_;
  size_t next_ = 0;
};

}  // namespace reference_trainer
