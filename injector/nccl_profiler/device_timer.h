// The clock of a device by which NCCL times kernels, against the host's. Nothing reads both at once, but a
// kernel begins after its call and has ended before anybody tells of it: that bounds how far they are apart.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector::profiler {

constexpr unsigned kTimers = 65;  // devices, and one for those whose number is not known

// What was on the host at `host_ticks` came before (`is_before`) or after what the timer had at `timer_ns`.
void bound_timer(trace::FileWriter& file, std::uint8_t device, std::uint64_t timer_ns,
                 std::uint64_t host_ticks, bool is_before);

// Ticks of the host's clock; tells the trace how well that is known when it is new. 0: nothing is known.
std::uint64_t timer_ticks(trace::FileWriter& file, std::uint8_t device, std::uint64_t timer_ns);

void forget_timers();  // after fork

}  // namespace ddpscope::injector::profiler
