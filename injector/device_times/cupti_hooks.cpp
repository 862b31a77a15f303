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

namespace behind {
#define DDPSCOPE_CUPTI_CALL(symbol) constinit NamedFunction<decltype(::symbol)> symbol(#symbol);
#include "injector/device_times/cupti_calls.def"
#undef DDPSCOPE_CUPTI_CALL
}  // namespace behind

// A client may register its callbacks once for several times of profiling, between which CUPTI is ours.
CUptiResult enable_for_client(NamedFunction<CUptiResult(CUpti_ActivityKind)>& function,
                              CUpti_ActivityKind kind) {
  CuptiLoan loan;
  restore_cupti_callbacks();
  CUptiResult result = real_cupti(function, kind);
  if (result == CUPTI_SUCCESS) note_cupti_kind(kind, true);
  return result;
}

CUptiResult set_context_for_client(NamedFunction<CUptiResult(CUcontext, CUpti_ActivityKind)>& function,
                                   CUcontext context, CUpti_ActivityKind kind) {
  CuptiLoan loan;
  restore_cupti_callbacks();
  CUptiResult result = real_cupti(function, context, kind);
  if (result == CUPTI_SUCCESS) note_cupti_context();
  return result;
}

}  // namespace

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                           void* userdata) {
  CuptiLoan loan;
  CUptiResult result = real_cupti(behind::cuptiSubscribe, subscriber, callback, userdata);
  if (result == CUPTI_SUCCESS) note_cupti_client(true);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                              void* userdata, CUpti_SubscriberParams* pParams) {
  CuptiLoan loan;
  CUptiResult result = real_cupti(behind::cuptiSubscribe_v2, subscriber, callback, userdata, pParams);
  if (result == CUPTI_SUCCESS) note_cupti_client(true);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  CUptiResult result = real_cupti(behind::cuptiUnsubscribe, subscriber);
  if (result == CUPTI_SUCCESS) note_cupti_client(false);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiFinalize() {
  CuptiLoan loan;
  CUptiResult result = real_cupti(behind::cuptiFinalize);
  note_cupti_end();
  return result;
}

DDPSCOPE_EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  CuptiLoan loan;
  note_cupti_callbacks(funcBufferRequested, funcBufferCompleted);
  return real_cupti(behind::cuptiActivityRegisterCallbacks, funcBufferRequested,
                    complete_for_client(funcBufferCompleted));
}

// Before its clock is CUPTI's: what was recorded by another one is read.
DDPSCOPE_EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  CuptiLoan loan;
  return real_cupti(behind::cuptiActivityRegisterTimestampCallback, funcTimestamp);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return enable_for_client(behind::cuptiActivityEnable, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  return enable_for_client(behind::cuptiActivityEnableAndDump, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (records_cupti_kind(kind)) return CUPTI_SUCCESS;
  CUptiResult result = real_cupti(behind::cuptiActivityDisable, kind);
  if (result == CUPTI_SUCCESS) note_cupti_kind(kind, false);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return set_context_for_client(behind::cuptiActivityEnableContext, context, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return set_context_for_client(behind::cuptiActivityDisableContext, context, kind);
}

DDPSCOPE_EXPORT CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  CUptiResult result = real_cupti(behind::cuptiActivityFlushAll, flag);
  if (result == CUPTI_SUCCESS) note_cupti_flush();
  return result;
}
