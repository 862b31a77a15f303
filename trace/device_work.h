// What a device did, at 32 bytes: a kernel, a copy, a fill or a collective, with the call that enqueued it.
// Content of chunks of the kinds kDeviceWork and kDeviceRing (format.h); which clock it was timed by,
// device_timing and device_clock records say (calls.def).
#pragma once
#include <cstdint>

namespace ddpscope::trace {

enum class DeviceWorkKind : std::uint8_t {
  kKernel = 1,
  kCopyToDevice = 2,
  kCopyToHost = 3,
  kCopyOnDevice = 4,  // or between two
  kCopyOnHost = 5,
  kFill = 6,
  kCollective = 7,  // from when its stream was free for it until it was done: waiting for peers counts in
};
constexpr std::uint8_t kDeviceWorkKinds = 7;  // the largest; their names are in named_values.def

// Zero for what whoever timed it did not tell. Of one process, in no order of time: devices report late.
struct DeviceWork {
  std::uint64_t begin;    // ticks of the host's clock; off by no more than the device_clock records say
  float duration;         // ticks, not negative: whole up to 2^24, beyond it right to 1 part in 10^7
  std::uint32_t called;   // when the record of the call that enqueued it begins: call_time()
  std::uint64_t subject;  // kernel: string id of its name as the device knows it; copy, fill: bytes;
                          // collective: communicator of this process, and sequence << 32, as in Collective
  std::uint32_t stream;   // as CUPTI numbers streams; 0: the call tells
  std::uint16_t thread;   // that called, as in Record; 0: the call is not known
  DeviceWorkKind kind;
  std::uint8_t device;  // as in Collective and Copy: its number in this process
};
static_assert(sizeof(DeviceWork) == 32);

// Calls are told by their thread and a time within them, in units of 16 ticks and 32 bits of it: a call that
// is enqueued more than 23 s (at 3 GHz) before the device begins with it is not found again.
constexpr unsigned kCallTimeBits = 4;
constexpr std::uint32_t call_time(std::uint64_t ticks) {
  return static_cast<std::uint32_t>(ticks >> kCallTimeBits);
}
// The ticks of a call_time() that lie at or before `begin`, as near to it as can be, rounded down.
constexpr std::uint64_t ticks_of_call(std::uint32_t call_time, std::uint64_t begin) {
  std::uint64_t units = begin >> kCallTimeBits;
  std::uint64_t back = static_cast<std::uint32_t>(static_cast<std::uint32_t>(units) - call_time);
  return units < back ? 0 : (units - back) << kCallTimeBits;
}

}  // namespace ddpscope::trace
