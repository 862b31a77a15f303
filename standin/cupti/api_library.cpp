// Entry points about the library: versions, names of results, the clock, ids of contexts and streams, the
// end.
#include <cupti.h>

#include "standin/cupti/boundary.h"
#include "standin/cupti/buffers.h"
#include "standin/cupti/records.h"
#include "standin/cupti/runtime.h"
#include "standin/cupti/session.h"

using namespace ddpscope::standin::cupti;

namespace {

const char* name_of(CUptiResult result) {
  switch (result) {
#define RESULT(name) \
  case name:         \
    return #name;
#include "results.def"
#undef RESULT
    default:
      return nullptr;
  }
}

void stream_id(CUcontext context, CUstream stream, bool per_thread, std::uint32_t* id) {
  require(id != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  int device = 0;
  std::uint64_t found = 0;
  require(runtime().stream_id(stream, per_thread, &device, &found), CUPTI_ERROR_INVALID_STREAM);
  require(!context || device_of(context) == device, CUPTI_ERROR_INVALID_STREAM);
  *id = static_cast<std::uint32_t>(found);
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (!version) return record_result(CUPTI_ERROR_INVALID_PARAMETER);
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (!text) return record_result(CUPTI_ERROR_INVALID_PARAMETER);
  const char* const name = name_of(result);
  *text = name ? name : "<unknown>";
  return name ? CUPTI_SUCCESS : record_result(CUPTI_ERROR_INVALID_PARAMETER);
}

// The real library has sentences for a few errors that nothing here returns; for the others it gives the
// name.
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  if (!text) return record_result(CUPTI_ERROR_INVALID_PARAMETER);
  const char* const name = name_of(result);
  *text = name ? name : "<unknown>";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetLastError() { return take_last_error(); }

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  return guarded([&] {
    require(timestamp != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    *timestamp = Session::instance().now();
  });
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  return guarded([&] {
    require(clock != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    Session::instance().set_clock(clock);
  });
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return guarded([&] {
    require(type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT && type < CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE,
            CUPTI_ERROR_NOT_SUPPORTED);
    Session::instance().thread_id_type = type;
  });
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  return guarded([&] {
    require(type != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    *type = Session::instance().thread_id_type;
  });
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  return guarded([&] {
    require(id != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    const int device = device_of(context);
    require(device >= 0, CUPTI_ERROR_INVALID_CONTEXT);
    *id = context_of(device);
  });
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  return guarded([&] {
    require(id != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    const int device = context ? device_of(context) : runtime().current_device();
    require(device >= 0, CUPTI_ERROR_INVALID_DEVICE);
    *id = static_cast<uint32_t>(device);
  });
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
  return guarded([&] { stream_id(context, stream, per_thread != 0, id); });
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return guarded([&] { stream_id(context, stream, false, id); });
}

// What has not been flushed is lost. Works from inside a callback, where the real library wants it to be
// called.
CUptiResult cuptiFinalize() {
  return guarded([&] {
    subscriber = nullptr;
    Session::instance().reset();
    try {
      runtime().observe(nullptr);
    } catch (const Failure&) {  // nothing had been observed
    }
    Buffers::instance().reset();
  });
}

}  // extern "C"
