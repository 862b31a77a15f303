// The structs of CUPTI's records grow from version to version, at their end: what is read here lies in all
// that CUDA 12 and 13 write, at the same place.
#include "injector/device_times/cupti_records.h"

#include <cupti.h>
#include <string.h>

#include "injector/core/hook.h"
#include "injector/device_times/cupti_library.h"
#include "trace/device_work.h"

namespace ddpscope::injector {

using trace::DeviceWork;
using trace::DeviceWorkKind;

struct CuptiRecords::Timed {
  std::uint64_t start, end;
  std::uint32_t correlation;
  DeviceWork work;  // kind, subject, stream, device
  bool kept;
};

namespace {

DeviceWorkKind kind_of_copy(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return DeviceWorkKind::kCopyToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return DeviceWorkKind::kCopyToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return DeviceWorkKind::kCopyOnHost;
    default:
      return DeviceWorkKind::kCopyOnDevice;
  }
}

DeviceWork work_of(DeviceWorkKind kind, std::uint64_t subject, std::uint32_t stream, std::uint32_t device) {
  DeviceWork work{};
  work.kind = kind;
  work.subject = subject;
  work.stream = stream;
  work.device = static_cast<std::uint8_t>(device);
  return work;
}

// The kernels of NCCL's collectives, mangled or not: ncclDevKernel_..., _Z39ncclDevKernel_...,
// ncclKernel_....
bool is_collective(const char* kernel) {
  if (!kernel) return false;
  if (kernel[0] == '_' && kernel[1] == 'Z')
    for (kernel += 2; *kernel >= '0' && *kernel <= '9';) ++kernel;
  return strncmp(kernel, "nccl", 4) == 0;
}

// CUPTI calls what the guest may have replaced (malloc, locks): only what we write is our own work.
void write(trace::FileWriter& file, const DeviceWork& work, bool kept) {
  OwnWork own(&file);
  if (own) this_thread.writer.add_device_work(file, work, kept ? trace::Budget::kKept : trace::Budget::kBulk);
}

std::uint32_t name_of(trace::FileWriter& file, const char* kernel) {
  OwnWork own(&file);
  return own ? this_thread.writer.intern(file, kernel) : 0;
}

template <class Record>
const Record& as(const void* record) {
  return *static_cast<const Record*>(record);
}

}  // namespace

bool CuptiRecords::link(std::uint32_t correlation, DeviceWork& work) const {
  const Link& found = links_[correlation % kLinks];
  if (!correlation || found.correlation != correlation) return false;
  work.thread = static_cast<std::uint16_t>(found.id >> 32);
  work.called = static_cast<std::uint32_t>(found.id);
  return true;
}

void CuptiRecords::take_timed(trace::FileWriter& file, const Timed& timed) {
  if (!timed.start || timed.end < timed.start) {  // what CUPTI could not time
    file.count(trace::Health::device_work_dropped);
    return;
  }
  DeviceWork work = timed.work;
  work.begin = clock.ticks(timed.start);
  work.duration = static_cast<float>(clock.ticks(timed.end) - work.begin);
  if (link(timed.correlation, work) || waits_ == kWaiting)
    write(file, work, timed.kept);
  else
    waiting_[waits_++] = {timed.correlation, 0, timed.kept, work};
}

void CuptiRecords::take_one(trace::FileWriter& file, const void* record) {
  switch (as<CUpti_Activity>(record).kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& external = as<CUpti_ActivityExternalCorrelation>(record);
      if (external.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        links_[external.correlationId % kLinks] = {external.correlationId, 0, external.externalId};
      return;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      std::uint32_t name = name_of(file, kernel.name);
      return take_timed(file, {kernel.start, kernel.end, kernel.correlationId,
                               work_of(DeviceWorkKind::kKernel, name, kernel.streamId, kernel.deviceId),
                               is_collective(kernel.name)});
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      return take_timed(
          file, {copy.start, copy.end, copy.correlationId,
                 work_of(kind_of_copy(copy.copyKind), copy.bytes, copy.streamId, copy.deviceId), false});
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = as<CUpti_ActivityMemset4>(record);
      return take_timed(file,
                        {fill.start, fill.end, fill.correlationId,
                         work_of(DeviceWorkKind::kFill, fill.bytes, fill.streamId, fill.deviceId), false});
    }
    default:
      return;
  }
}

void CuptiRecords::take(trace::FileWriter& file, std::uint8_t* buffer, std::size_t bytes) {
  CUpti_Activity* record = nullptr;
  while (cupti()->next_record(buffer, bytes, &record) == CUPTI_SUCCESS) take_one(file, record);
}

void CuptiRecords::settle(trace::FileWriter& file) {
  std::uint32_t still = 0;
  for (std::uint32_t i = 0; i < waits_; ++i) {
    Waiting& one = waiting_[i];
    if (link(one.correlation, one.work) || one.flushes > 0)
      write(file, one.work, one.kept);
    else
      waiting_[still++] = {one.correlation, one.flushes + 1, one.kept, one.work};
  }
  waits_ = still;
}

}  // namespace ddpscope::injector
