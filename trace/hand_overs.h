// What payload::HandOver says was handed over; the names stand in named_values.def.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

enum class HandOverKind : std::uint8_t {
  kCondition = 1,
  kSemaphore = 2,
  kMutex = 3,
  kFutex = 4,
  kBarrier = 5,
  kReadWriteLock = 6,
};

constexpr std::uint8_t kRelock = 1;     // flag: a mutex taken again inside a condition wait
constexpr std::uint8_t kUncertain = 2;  // flag: the semaphore had further tokens

// HandOver::number of a condition or futex, where a thread is told that signalled: for how long the wait
// lasted, in units of 2^kWaitedShift ticks (0.3 to 1 ms), rounded down; 0: shorter, or not known.
constexpr unsigned kWaitedShift = 20;

}  // namespace ddpscope::trace
