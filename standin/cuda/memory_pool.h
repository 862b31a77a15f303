// Memory pools: who asked for stream-ordered memory, and how much of it is in use.
#pragma once

#include <driver_types.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace ddpscope::standin {

class Device;

/// Freed memory goes back to the system at once, so what is reserved is what is used.
class MemoryPool {
 public:
  explicit MemoryPool(Device& device) : device_(device) {}

  Device& device() const { return device_; }
  void took(std::uint64_t bytes);
  void gave_back(std::uint64_t bytes) { used_.fetch_sub(bytes); }

  /// The value of an attribute. Fails with cudaErrorInvalidValue where it is unknown.
  std::uint64_t attribute(cudaMemPoolAttr attr) const;

  /// Sets an attribute; of the high marks only a reset to 0 is allowed. Fails with cudaErrorInvalidValue.
  void set_attribute(cudaMemPoolAttr attr, std::uint64_t value);

 private:
  Device& device_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> most_used_{0};
  std::atomic<std::uint64_t> release_threshold_{0};  // kept for who asks; it changes nothing here
  std::array<std::atomic<std::uint64_t>, 3> reuse_{1, 1, 1};
};

}  // namespace ddpscope::standin
