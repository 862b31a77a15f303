// Owners of what the CUDA runtime hands out: device and pinned memory, streams, events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <utility>

#include "check.h"

namespace reference_trainer {

template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // Zeroed.
  explicit DeviceBuffer(size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
    check(cudaMemset(data_, 0, bytes()));
    // The streams that use the buffer do not wait for the default stream.
    check(cudaStreamSynchronize(cudaStreamLegacy));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

  // Both return after the copy.
  void upload(std::span<const T> from) const {
    check(cudaMemcpy(data_, from.data(), from.size_bytes(), cudaMemcpyHostToDevice));
  }
  void download(std::span<T> to) const {
    check(cudaMemcpy(to.data(), data_, to.size_bytes(), cudaMemcpyDeviceToHost));
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

template <typename T>
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t count) : count_(count) {
    check(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { cudaFreeHost(data_); }

  std::span<T> span() const { return {data_, count_}; }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }

  cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Orders streams, or a stream before the host.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream)); }
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0)); }
  void synchronize() const { check(cudaEventSynchronize(event_)); }
  bool done() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady) check(state);
    // "Not ready" stays behind as the last error, which the next launch would be blamed for.
    if (state == cudaErrorNotReady) cudaGetLastError();
    return state == cudaSuccess;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace reference_trainer
