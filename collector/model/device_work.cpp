// Device work is read as it was written down, in no order, and sorted once.
#include "collector/model/device_work.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

namespace ddpscope::model {
namespace {

using trace::DeviceWork;
using trace::DeviceWorkKind;
using trace::Operation;

// A record's begin may have been rounded up (folded calls), a call's time is rounded down: one unit each.
constexpr std::uint64_t kRounding = std::uint64_t{2} << trace::kCallTimeBits;

struct Asked {
  std::uint16_t thread;
  std::uint64_t ticks;
  std::size_t index;  // of the interval
};

struct Latest {
  trace::Record record{};
  EventPlace place = kNoCall;
};

trace::OperationSet device_calls() {
  trace::OperationSet set;
  for (const trace::CallInfo& call : trace::kCalls) {
    CallClass about = class_of(call.payload);
    if (about == CallClass::kCuda || about == CallClass::kNccl) set.add(call.operation);
  }
  return set;
}

bool is_inside(const Latest& latest, std::uint64_t ticks) {
  return latest.place != kNoCall && (!latest.record.end || latest.record.end + kRounding > ticks);
}

std::size_t quality(std::string_view tier) {
  constexpr std::string_view kTiers[] = {"none", "events", "profiler", "cupti"};
  auto found = std::find(std::begin(kTiers), std::end(kTiers), tier);
  return found == std::end(kTiers) ? 0 : static_cast<std::size_t>(found - std::begin(kTiers));
}

// Nothing begins before the call that enqueues it. On a busy machine the clocks of device and host may be
// compared so badly that it seems to.
DeviceWork not_before_its_call(DeviceWork work) {
  constexpr std::uint64_t kMostClockError = 300'000'000;  // ticks: a tenth of a second or so
  if (!work.thread) return work;
  std::uint64_t called = trace::ticks_of_call(work.called, work.begin + kMostClockError);
  if (called > work.begin) work.begin = called + (std::uint64_t{1} << trace::kCallTimeBits);
  return work;
}

struct ClockReading {
  std::uint64_t device_ns;
  std::int64_t host_ns;
  double error_ns;
};

// By what another reading says: the two clocks drift apart by no more than that.
void tighten(ClockReading& reading, const ClockReading& by) {
  constexpr double kDrift = 1e-5;
  auto device_ns = static_cast<double>(static_cast<std::int64_t>(reading.device_ns - by.device_ns));
  auto host_ns = static_cast<double>(reading.host_ns - by.host_ns);
  reading.error_ns =
      std::min(reading.error_ns, by.error_ns + std::abs(host_ns - device_ns) + kDrift * std::abs(device_ns));
}

// A clock may be known badly at first, and well in the end: then it was right all the time.
double largest_error_ns(std::vector<ClockReading>& readings) {
  double most = 0;
  for (std::size_t i = 1; i < readings.size(); ++i) tighten(readings[i], readings[i - 1]);
  for (std::size_t i = readings.size(); i-- > 0;) {
    if (i + 1 < readings.size()) tighten(readings[i], readings[i + 1]);
    most = std::max(most, readings[i].error_ns);
  }
  return most;
}

}  // namespace

bool is_collective(DeviceWorkKind kind) { return kind == DeviceWorkKind::kCollective; }
bool is_any(DeviceWorkKind) { return true; }

bool is_nccl_kernel(const trace::TraceFile& file, const DeviceWork& work) {
  if (work.kind != DeviceWorkKind::kKernel) return false;
  std::string_view name = file.string(static_cast<std::uint32_t>(work.subject));
  if (name.starts_with("_Z"))
    name.remove_prefix(std::min(name.find_first_not_of("0123456789", 2), name.size()));
  return name.starts_with("nccl");
}

std::vector<DeviceInterval> device_intervals(const Job& job, std::uint32_t process,
                                             bool (*wanted)(DeviceWorkKind)) {
  std::vector<DeviceInterval> intervals;
  for (const trace::DeviceSpan& span : job.processes[process].file.device_work())
    for (const DeviceWork& told : span.work) {
      if (!wanted(told.kind)) continue;
      DeviceWork work = not_before_its_call(told);
      auto end = work.begin + static_cast<std::uint64_t>(work.duration);
      intervals.push_back({job.time_ns(process, work.begin), job.time_ns(process, end), work});
    }
  std::stable_sort(intervals.begin(), intervals.end(),
                   [](const DeviceInterval& a, const DeviceInterval& b) { return a.begin_ns < b.begin_ns; });
  return intervals;
}

std::vector<EventPlace> calls_of(const Process& process, const std::vector<DeviceInterval>& intervals) {
  std::vector<EventPlace> calls(intervals.size(), kNoCall);
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const DeviceWork& work = intervals[i].work;
    if (work.thread) asked.push_back({work.thread, trace::ticks_of_call(work.called, work.begin), i});
  }
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.ticks < b.ticks; });
  std::map<std::uint16_t, Latest> latest;  // by thread: the call that began last
  std::size_t next = 0;
  auto answer_until = [&](std::uint64_t ticks) {
    for (; next < asked.size() && asked[next].ticks + kRounding <= ticks; ++next)
      if (const Latest& call = latest[asked[next].thread]; is_inside(call, asked[next].ticks))
        calls[asked[next].index] = call.place;
  };
  for_each_in_time(process.file, device_calls(), [&](EventPlace place, const trace::Record& record) {
    answer_until(record.begin);
    latest[record.thread] = {record, place};
  });
  answer_until(~std::uint64_t{0});
  return calls;
}

std::vector<TimingPeriod> timing_periods(const Job& job, std::uint32_t process) {
  std::vector<TimingPeriod> periods;
  const trace::TraceFile& file = job.processes[process].file;
  for_each_in_time(file, {Operation::kDeviceTiming}, [&](EventPlace, const trace::Record& record) {
    auto timing = trace::payload_of<trace::payload::DeviceTiming>(record);
    periods.push_back(
        {job.time_ns(process, record.begin), file.string(timing.tier), file.string(timing.reason)});
  });
  return periods;
}

std::string why_untimed(const Job& job, std::uint32_t index) {
  const Process& process = job.processes[index];
  auto asked = process.environment.find("DDPSCOPE_GPU_TIMING");
  if (process.role != Role::kRank || asked == process.environment.end() || quality(asked->second) == 0)
    return {};
  if (!timing_periods(job, index).empty()) return {};
  bool used_cuda = false;  // the record is of the first call that succeeded
  for_each(process.file, {Operation::kDeviceIdentity},
           [&](EventPlace, const trace::Record&) { used_cuda = true; });
  auto calls = [&](CallClass about) { return process.calls[static_cast<std::size_t>(about)]; };
  const char* lacking = nullptr;
  if (!used_cuda)
    lacking = calls(CallClass::kCuda) ? "no call of CUDA succeeded" : "no call of CUDA was seen";
  else if (asked->second == "profiler")
    lacking = calls(CallClass::kNccl) ? "no collective of NCCL was seen" : "no call of NCCL was seen";
  return lacking ? std::string(asked->second) + " was asked for, and " + lacking : std::string();
}

std::string_view gpu_timing(const Job& job) {
  std::string_view best = "none";
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    for (const TimingPeriod& period : timing_periods(job, i))
      if (quality(period.tier) > quality(best)) best = period.tier;
  return best;
}

std::int64_t device_clock_error_ns(const Job& job, std::uint32_t process) {
  std::map<std::uint8_t, std::vector<ClockReading>> devices;
  double most = 0;
  for_each_in_time(
      job.processes[process].file, {Operation::kDeviceClock}, [&](EventPlace, const trace::Record& record) {
        auto clock = trace::payload_of<trace::payload::DeviceClock>(record);
        auto error_ns = static_cast<double>(clock.error_ns);
        if (clock.device_ns)
          devices[clock.device].push_back({clock.device_ns, job.time_ns(process, clock.host), error_ns});
        else  // of an event, which has no time of its own
          most = std::max(most, error_ns);
      });
  for (auto& [device, readings] : devices) most = std::max(most, largest_error_ns(readings));
  return static_cast<std::int64_t>(std::min(most, static_cast<double>(kTimeLimit)));
}

}  // namespace ddpscope::model
