// From what the runtime tells to NVIDIA's structs. Fields that mean nothing on a CPU are 0 or "invalid".
#include "standin/cupti/records.h"

#include <unistd.h>

#include <atomic>

#include "standin/cupti/runtime.h"

namespace ddpscope::standin::cupti {
namespace {

std::uint8_t memory_kind(MemoryPlace place) {
  switch (place) {
    case MemoryPlace::kPageable:
      return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case MemoryPlace::kPinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case MemoryPlace::kDevice:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    case MemoryPlace::kManaged:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    case MemoryPlace::kDeviceVariable:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC;
    case MemoryPlace::kManagedVariable:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
}

std::uint8_t copy_kind(const Activity& activity) {
  const bool from_device = activity.from_device >= 0, to_device = activity.to_device >= 0;
  if (from_device && to_device) {
    const bool between = activity.from_device != activity.to_device;
    return between ? CUPTI_ACTIVITY_MEMCPY_KIND_PTOP : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  }
  if (from_device) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

CUpti_ActivitySynchronizationType type_of(Synchronization::Kind kind) {
  switch (kind) {
    case Synchronization::kEvent:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    case Synchronization::kStreamWait:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    case Synchronization::kStream:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    case Synchronization::kDevice:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  }
  return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
}

/// What kernels, copies and fills have in common.
template <class Record>
void place_and_time(Record& record, const Activity& activity, std::uint32_t correlation, Times times) {
  record.start = times.start;
  record.end = times.end;
  record.deviceId = static_cast<std::uint32_t>(activity.device);
  record.contextId = context_of(activity.device);
  record.streamId = static_cast<std::uint32_t>(activity.stream);
  record.correlationId = correlation;
  record.channelID = CUPTI_INVALID_CHANNEL_ID;
  record.channelType = CUPTI_CHANNEL_TYPE_INVALID;
  record.graphNodeId = activity.node;
  record.graphId = static_cast<std::uint32_t>(activity.graph);
}

template <class Record>
void copy_kinds(Record& record, const Activity& activity) {
  record.copyKind = copy_kind(activity);
  record.srcKind = memory_kind(activity.from);
  record.dstKind = memory_kind(activity.to);
  record.flags = activity.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = activity.bytes;
}

}  // namespace

CUcontext context_handle(int device) { return runtime().context(device); }

int device_of(CUcontext context) {
  for (int device = 0; context && runtime().context(device); ++device) {
    if (context == context_handle(device)) return device;
  }
  return -1;
}

CUpti_ActivityKernel10 kernel_record(const Activity& activity, CUpti_ActivityKind kind,
                                     std::uint32_t correlation, Times times) {
  static std::atomic<std::int64_t> grids{0};
  CUpti_ActivityKernel10 record{};
  record.kind = kind;
  place_and_time(record, activity, correlation, times);
  record.completed = times.end;
  record.queued = record.submitted = times.queued;  // the stream's thread has it as soon as it is queued
  record.registersPerThread = kRegistersPerThread;
  record.partitionedGlobalCacheRequested = record.partitionedGlobalCacheExecuted =
      CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  record.gridX = static_cast<std::int32_t>(activity.grid.x);
  record.gridY = static_cast<std::int32_t>(activity.grid.y);
  record.gridZ = static_cast<std::int32_t>(activity.grid.z);
  record.blockX = static_cast<std::int32_t>(activity.block.x);
  record.blockY = static_cast<std::int32_t>(activity.block.y);
  record.blockZ = static_cast<std::int32_t>(activity.block.z);
  record.dynamicSharedMemory = static_cast<std::int32_t>(activity.shared_bytes);
  record.gridId = ++grids;
  record.name = activity.name;
  record.launchType = activity.cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                           : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  return record;
}

CUpti_ActivityMemcpy6 copy_record(const Activity& activity, std::uint32_t correlation, Times times) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  place_and_time(record, activity, correlation, times);
  copy_kinds(record, activity);
  record.runtimeCorrelationId = correlation;
  record.copyCount = 1;
  return record;
}

CUpti_ActivityMemcpyPtoP4 peer_copy_record(const Activity& activity, std::uint32_t correlation, Times times) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  place_and_time(record, activity, correlation, times);
  copy_kinds(record, activity);
  record.srcDeviceId = static_cast<std::uint32_t>(activity.from_device);
  record.srcContextId = context_of(activity.from_device);
  record.dstDeviceId = static_cast<std::uint32_t>(activity.to_device);
  record.dstContextId = context_of(activity.to_device);
  return record;
}

CUpti_ActivityMemset4 fill_record(const Activity& activity, std::uint32_t correlation, Times times) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  place_and_time(record, activity, correlation, times);
  record.value = static_cast<unsigned char>(activity.value);
  record.bytes = activity.bytes;
  record.flags = activity.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.memoryKind = memory_kind(activity.to);
  return record;
}

CUpti_ActivitySynchronization2 synchronization_record(const Synchronization& wait, std::uint32_t correlation,
                                                      std::uint64_t end) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type_of(wait.kind);
  record.start = wait.begin;
  record.end = end;
  record.correlationId = correlation;
  record.contextId = context_of(wait.device);
  record.streamId =
      wait.stream ? static_cast<std::uint32_t>(wait.stream) : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventId = wait.event ? wait.event : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventSyncId = wait.record ? wait.record : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.returnValue = static_cast<std::uint32_t>(wait.result);  // NOT_READY has one number in both APIs
  return record;
}

CUpti_ActivityAPI api_record(const ApiCall& call, std::uint64_t end, std::uint32_t thread) {
  CUpti_ActivityAPI record{};
  record.kind = call.api == Api::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = call.callback_id;
  record.start = call.begin;
  record.end = end;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = thread;
  record.correlationId = call.correlation;
  record.returnValue = static_cast<std::uint32_t>(*call.result);
  return record;
}

CUpti_ActivityExternalCorrelation external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t id,
                                                  std::uint32_t correlation) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation;
  return record;
}

std::size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    default:
      return 0;
  }
}

}  // namespace ddpscope::standin::cupti
