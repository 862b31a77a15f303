// The activity API.
#include <cupti.h>

#include <cstring>

#include "standin/cupti/boundary.h"
#include "standin/cupti/buffers.h"
#include "standin/cupti/external_ids.h"
#include "standin/cupti/records.h"
#include "standin/cupti/runtime.h"
#include "standin/cupti/session.h"

using ddpscope::standin::Api;
using namespace ddpscope::standin::cupti;

namespace {

/// Attributes that size memory of a GPU: kept, so that they read as they were set, and without effect.
struct Sizes {
  std::atomic<std::size_t> device_buffer{3'200'000};
  std::atomic<std::size_t> device_buffer_cdp{8'388'608};
  std::atomic<std::size_t> pool_limit{250};
  std::atomic<std::size_t> pre_allocate{3};
  std::atomic<std::size_t> device_buffer_graphs{16'777'216};
};
Sizes sizes;

std::atomic<std::size_t>* size_attribute(CUpti_ActivityAttribute attribute) {
  switch (attribute) {
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
      return &sizes.device_buffer;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP:
      return &sizes.device_buffer_cdp;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
      return &sizes.pool_limit;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE:
      return &sizes.pre_allocate;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS:
      return &sizes.device_buffer_graphs;
    default:
      return nullptr;
  }
}

template <class T>
T read_value(const std::size_t* bytes, const void* value) {
  require(*bytes >= sizeof(T), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  T read{};
  std::memcpy(&read, value, sizeof read);
  return read;
}

template <class T>
void write_value(std::size_t* bytes, void* value, T written) {
  require(*bytes >= sizeof written, CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  std::memcpy(value, &written, sizeof written);
  *bytes = sizeof written;
}

/// Attributes that are known and not provided fail with CUPTI_ERROR_NOT_SUPPORTED.
[[noreturn]] void no_such_attribute(CUpti_ActivityAttribute attribute) {
  require(attribute >= 0 && attribute <= CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS,
          CUPTI_ERROR_INVALID_PARAMETER);
  throw Failure{refuse(("activity attribute " + std::to_string(attribute)).c_str())};
}

void flush(std::uint32_t flag) {
  Buffers& buffers = Buffers::instance();
  require(buffers.has_callbacks(), CUPTI_ERROR_INVALID_OPERATION);
  buffers.flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  return guarded([&] {
    require(request != nullptr && complete != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    Buffers::instance().set_callbacks(request, complete);
  });
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return guarded([&] { Session::instance().enable(kind, true); });
}

// None of the kinds whose existing objects it would also tell is provided.
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return guarded([&] { Session::instance().enable(kind, false); });
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return guarded([&] { Session::instance().enable_on(device_of(context), kind, true); });
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return guarded([&] { Session::instance().enable_on(device_of(context), kind, false); });
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  return guarded([&] { Session::instance().record(Api::kRuntime, id, enable != 0); });
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  return guarded([&] { Session::instance().record(Api::kDriver, id, enable != 0); });
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  return guarded([&] { Session::instance().latency_timestamps = enable != 0; });
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  return guarded([&] { Session::instance().all_synchronizations = enable != 0; });
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  return guarded([&] { flush(flag); });
}

CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  return guarded([&] { flush(flag); });
}

CUptiResult cuptiActivityFlushPeriod(uint32_t ms) {
  return guarded([&] { Buffers::instance().set_period(ms); });
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  return guarded([&] {
    require(buffer != nullptr && record != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    std::uint8_t* next = buffer;
    if (*record) next = reinterpret_cast<std::uint8_t*>(*record) + record_size((*record)->kind);
    const std::size_t at = static_cast<std::size_t>(next - buffer);
    require(at < valid_bytes, CUPTI_ERROR_MAX_LIMIT_REACHED);
    auto* const found = reinterpret_cast<CUpti_Activity*>(next);
    const std::size_t bytes = record_size(found->kind);
    require(bytes > 0 && bytes <= valid_bytes - at, CUPTI_ERROR_INVALID_KIND);
    *record = found;
  });
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return guarded([&] {
    require(dropped != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    *dropped = Buffers::instance().take_dropped();
  });
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return guarded([&] { push_external_id(kind, id); });
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last_id) {
  return guarded([&] {
    const std::uint64_t id = pop_external_id(kind);
    if (last_id) *last_id = id;
  });
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes, void* value) {
  return guarded([&] {
    require(bytes != nullptr && value != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    if (auto* size = size_attribute(attribute)) {
      *size = read_value<std::size_t>(bytes, value);
    } else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
      Buffers::instance().set_zeroed(read_value<std::uint8_t>(bytes, value) != 0);
    } else if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
      Buffers::instance().set_per_thread(read_value<std::uint8_t>(bytes, value) != 0);
    } else {
      no_such_attribute(attribute);
    }
  });
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes, void* value) {
  return guarded([&] {
    require(bytes != nullptr && value != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    if (const auto* size = size_attribute(attribute)) {
      write_value(bytes, value, size->load());
    } else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
      write_value(bytes, value, static_cast<std::uint8_t>(Buffers::instance().zeroed()));
    } else if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
      write_value(bytes, value, static_cast<std::uint8_t>(Buffers::instance().per_thread()));
    } else {
      no_such_attribute(attribute);
    }
  });
}

}  // extern "C"
