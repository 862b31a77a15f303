// The device of a communicator as the calling thread's current one, for as long as events are made and
// recorded on it: an event is made on the device that is current, and stream 0 is that device's own.
#pragma once
#include "injector/cuda/device.h"
#include "injector/device_times/event_pairs.h"

namespace ddpscope::injector {

// Costs nothing where the device is current as it is. Leaves the thread's device and last error as they were.
class DeviceScope {
 public:
  explicit DeviceScope(unsigned device) : is_current_(device == current_device()) {
    if (!is_current_) enter(static_cast<int>(device));
  }
  ~DeviceScope() {
    if (before_ != kUnknownDevice) leave();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  // False: the device is not current. cudaSetDevice makes the context of a device that has none, hundreds of
  // MiB, also on our way back. NCCL has been back there if the thread has enqueued a collective before.
  explicit operator bool() const { return is_current_; }

 private:
  void enter(int device);
  void leave();

  bool is_current_;
  int before_ = kUnknownDevice;
};

// NCCL has enqueued collectives of a communicator that blocks: it went to the communicator's device and, with
// cudaSetDevice, back to the thread's own.
inline void note_return_to_device() {
  if (current_device() < kTimedDevices) this_thread.returned_to |= std::uint64_t{1} << current_device();
}

}  // namespace ddpscope::injector
