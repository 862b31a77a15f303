// What the devices of a process did, on the job's time line, and how it was timed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/job.h"
#include "trace/device_work.h"

namespace ddpscope::model {

struct DeviceInterval {
  std::int64_t begin_ns, end_ns;  // since the job's start
  trace::DeviceWork work;
};

// By begin; of the kinds wanted. Of all but collectives the ring may have taken the older ones.
std::vector<DeviceInterval> device_intervals(const Job& job, std::uint32_t process,
                                             bool (*wanted)(trace::DeviceWorkKind));
bool is_collective(trace::DeviceWorkKind kind);
bool is_any(trace::DeviceWorkKind kind);
// Whether a kernel is NCCL's: ncclDevKernel_AllReduce_Sum_f32_RING_LL, mangled as a rule
// (_Z39ncclDevKernel_...).
bool is_nccl_kernel(const trace::TraceFile& file, const trace::DeviceWork& work);

constexpr EventPlace kNoCall{~0u, ~0u};
// The calls that enqueued them, in the same order; kNoCall where it is not known, or its record is gone.
std::vector<EventPlace> calls_of(const Process& process, const std::vector<DeviceInterval>& intervals);

// From a moment on device work is timed like this; tier and reason as payload::DeviceTiming has them.
struct TimingPeriod {
  std::int64_t from_ns;
  std::string_view tier, reason;
};
std::vector<TimingPeriod> timing_periods(const Job& job, std::uint32_t process);  // in order of time

// Why a rank has none of these though a tier was asked for by name: what is timed never came. Empty: it has.
std::string why_untimed(const Job& job, std::uint32_t process);

// The best tier that a rank's device work was timed by: none, events, profiler or cupti.
std::string_view gpu_timing(const Job& job);

// The most by which times of the device may be wrong on the host's clock; 0: the two were never compared.
std::int64_t device_clock_error_ns(const Job& job, std::uint32_t process);

}  // namespace ddpscope::model
