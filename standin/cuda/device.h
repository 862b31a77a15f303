// The devices of this host: which ones the process sees, and the streams of each.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "standin/cuda/stream.h"

namespace ddpscope::standin {

inline constexpr int kMostDevices = 64;
inline constexpr std::size_t kDeviceMemoryBytes = std::size_t{16} << 30;

/// How many devices the host has, whatever CUDA_VISIBLE_DEVICES says.
int devices_of_host();

cudaUUID_t uuid_of(int physical);

class Device {
 public:
  /// `ordinal`: the number the process uses; `physical`: its number on the host, before CUDA_VISIBLE_DEVICES.
  Device(int ordinal, int physical) : ordinal_(ordinal), physical_(physical) {}

  int ordinal() const { return ordinal_; }
  int physical() const { return physical_; }
  const cudaDeviceProp& properties();  ///< built at first use

  const StreamRef& legacy_stream();
  StreamRef create_stream(StreamKind kind, int priority);
  void remove(Stream& stream);

  /// Queues work on the legacy or a blocking stream of this device in the order that submit() promises.
  Mark push_ordered(Stream& stream, Work work, std::vector<Mark> after);

  /// What the legacy stream stands for: the ends of itself and of all blocking streams.
  std::vector<Mark> legacy_scope();

  /// Its primary context exists from now on.
  void activate();

  /// Sleeps until all streams have finished what had been submitted before the call.
  void synchronize();

  std::atomic<unsigned> flags{cudaDeviceScheduleAuto};
  std::atomic<std::size_t> bytes_allocated{0};
  std::atomic<std::uint64_t> peers_enabled{0};  ///< a bit per ordinal
  std::atomic<bool> active{false};              ///< its primary context exists: somebody used or chose it

 private:
  std::vector<Mark> tails(bool blocking_only);  // needs mutex_

  const int ordinal_;
  const int physical_;
  std::once_flag properties_built_;
  std::unique_ptr<cudaDeviceProp> properties_;
  std::once_flag legacy_made_;
  StreamRef legacy_;
  std::mutex mutex_;
  std::vector<StreamRef> streams_;  // all but the legacy stream, also closed ones that still have work
};

/// The devices that CUDA_VISIBLE_DEVICES leaves, in its order. Read once, at first use; never destroyed.
const std::vector<Device*>& visible_devices();

/// Fails with cudaErrorInvalidDevice.
Device& device_at(int ordinal);

/// The calling thread's current device, about to be used; the first one until it chose.
Device& current_device();
void make_current(Device& device);

/// The same for who only asks: the device does not become active.
Device& chosen_device();

/// The thread has used or chosen a device, so the device's primary context is current in it.
bool thread_has_context();
void leave_context();

}  // namespace ddpscope::standin
