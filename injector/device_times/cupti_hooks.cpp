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
constinit NamedFunction<CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)>
    register_callbacks("cuptiActivityRegisterCallbacks");

}  // namespace

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                           void* userdata) {
  lend_cupti();
  CUptiResult result = real_cupti(subscribe, subscriber, callback, userdata);
  note_cupti_client(result == CUPTI_SUCCESS);
  return result;
}

DDPSCOPE_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                              void* userdata, CUpti_SubscriberParams* pParams) {
  lend_cupti();
  CUptiResult result = real_cupti(subscribe_v2, subscriber, callback, userdata, pParams);
  note_cupti_client(result == CUPTI_SUCCESS);
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
  note_cupti_callbacks(nullptr, nullptr);
  note_cupti_client(false);
  return result;
}

DDPSCOPE_EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  lend_cupti();
  note_cupti_callbacks(funcBufferRequested, funcBufferCompleted);
  return real_cupti(register_callbacks, funcBufferRequested, funcBufferCompleted);
}

// A client may register its callbacks once for several times of profiling, between which CUPTI is ours.
DDPSCOPE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  lend_cupti();
  restore_cupti_callbacks();
  return real_cupti(enable, kind);
}
