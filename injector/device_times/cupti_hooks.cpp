// The program's own calls to CUPTI, which serves one client: whoever comes gets it from us, and finds its own
// callbacks in place.
#include "injector/core/hook.h"
#include "injector/device_times/cupti_session.h"

using namespace ddpscope::injector;

namespace {

// Behind our hook; what is missing says so as CUPTI would.
template <class... Params, class... Args>
CUptiResult real_cupti(NamedFunction<CUptiResult(Params...)>& function, Args... args) {
  auto* found = function.get();
  return found ? found(args...) : CUPTI_ERROR_NOT_INITIALIZED;
}

constinit NamedFunction<CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*)> subscribe(
    "cuptiSubscribe");
constinit NamedFunction<CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                                    CUpti_SubscriberParams*)>
    subscribe_v2("cuptiSubscribe_v2");
constinit NamedFunction<CUptiResult(CUpti_SubscriberHandle)> unsubscribe("cuptiUnsubscribe");
constinit NamedFunction<CUptiResult()> finalize("cuptiFinalize");
constinit NamedFunction<CUptiResult(CUpti_ActivityKind)> enable("cuptiActivityEnable");
constinit NamedFunction<CUptiResult(CUpti_ActivityKind)> enable_and_dump("cuptiActivityEnableAndDump");
constinit NamedFunction<CUptiResult(CUpti_ActivityKind)> disable("cuptiActivityDisable");
constinit NamedFunction<CUptiResult(std::uint32_t)> flush("cuptiActivityFlushAll");
constinit NamedFunction<CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)>
    register_callbacks("cuptiActivityRegisterCallbacks");
constinit NamedFunction<CUptiResult(CUpti_TimestampCallbackFunc)> register_clock(
    "cuptiActivityRegisterTimestampCallback");

// A client may register its callbacks once for several times of profiling, between which CUPTI is ours.
CUptiResult enable_for_client(NamedFunction<CUptiResult(CUpti_ActivityKind)>& function,
                              CUpti_ActivityKind kind) {
  lend_cupti();
  restore_cupti_callbacks();
  CUptiResult result = real_cupti(function, kind);
  if (result == CUPTI_SUCCESS) note_cupti_kind(kind, true);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                           void* userdata) {
  lend_cupti();
  CUptiResult result = real_cupti(subscribe, subscriber, callback, userdata);
  if (result == CUPTI_SUCCESS) note_cupti_client(true);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                              void* userdata, CUpti_SubscriberParams* pParams) {
  lend_cupti();
  CUptiResult result = real_cupti(subscribe_v2, subscriber, callback, userdata, pParams);
  if (result == CUPTI_SUCCESS) note_cupti_client(true);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  CUptiResult result = real_cupti(unsubscribe, subscriber);
  if (result == CUPTI_SUCCESS) note_cupti_client(false);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiFinalize() {
  lend_cupti();
  CUptiResult result = real_cupti(finalize);
  note_cupti_end();
  return result;
}

DDPSCOPE_EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  lend_cupti();
  note_cupti_callbacks(funcBufferRequested, funcBufferCompleted);
  return real_cupti(register_callbacks, funcBufferRequested, complete_for_client(funcBufferCompleted));
}

// Before its clock is CUPTI's: what was recorded by another one is read.
DDPSCOPE_EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  lend_cupti();
  return real_cupti(register_clock, funcTimestamp);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return enable_for_client(enable, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  return enable_for_client(enable_and_dump, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (records_cupti_kind(kind)) return CUPTI_SUCCESS;
  CUptiResult result = real_cupti(disable, kind);
  if (result == CUPTI_SUCCESS) note_cupti_kind(kind, false);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  CUptiResult result = real_cupti(flush, flag);
  if (result == CUPTI_SUCCESS) note_cupti_flush();
  return result;
}
