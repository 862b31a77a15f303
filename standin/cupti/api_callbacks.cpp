// The callback API: one subscriber, called at the begin and the end of calls of the runtime.
#include <cupti.h>

#include <cstring>

#include "standin/cupti/boundary.h"
#include "standin/cupti/runtime.h"
#include "standin/cupti/session.h"

using ddpscope::standin::Api;
using namespace ddpscope::standin::cupti;

namespace {

constexpr const char* kNamePrefix = "CUPTI for ";

void check_subscriber(CUpti_SubscriberHandle handle) {
  require(handle != nullptr && handle == subscriber.load(), CUPTI_ERROR_INVALID_PARAMETER);
}

/// The API of a domain that is provided. Other domains fail with CUPTI_ERROR_NOT_SUPPORTED.
Api api_of(CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return Api::kRuntime;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return Api::kDriver;
  require(domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE, CUPTI_ERROR_INVALID_PARAMETER);
  throw Failure{refuse(("callback domain " + std::to_string(domain)).c_str())};
}

void subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user_data,
               const char* name) {
  require(handle != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  ddpscope::standin::cupti::runtime();
  auto* const ours =
      new CUpti_Subscriber_st{callback, user_data, name ? kNamePrefix + std::string(name) : "CUPTI"};
  CUpti_Subscriber_st* nobody = nullptr;
  if (!subscriber.compare_exchange_strong(nobody, ours)) {
    delete ours;
    throw Failure{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED};
  }
  *handle = ours;
}

void tell_old_subscriber(const CUpti_SubscriberParams* parameters) {
  const CUpti_Subscriber_st* const old = subscriber.load();
  if (!old || !parameters || !parameters->oldSubscriberName || parameters->oldSubscriberSize == 0) return;
  const std::size_t length = old->name.copy(parameters->oldSubscriberName, parameters->oldSubscriberSize - 1);
  parameters->oldSubscriberName[length] = '\0';
}

}  // namespace

extern "C" {

CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  static CUpti_CallbackDomain provided[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API};
  return guarded([&] {
    require(count != nullptr && table != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    *count = std::size(provided);
    *table = provided;
  });
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user_data) {
  return guarded([&] { subscribe(handle, callback, user_data, nullptr); });
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user_data,
                              CUpti_SubscriberParams* parameters) {
  const CUptiResult result = guarded([&] {
    require(!parameters || parameters->structSize == CUpti_SubscriberParams_STRUCT_SIZE,
            CUPTI_ERROR_INVALID_PARAMETER);
    subscribe(handle, callback, user_data, parameters ? parameters->subscriberName : nullptr);
  });
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) tell_old_subscriber(parameters);
  return result;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  return guarded([&] {
    check_subscriber(handle);
    for (const Api api : {Api::kRuntime, Api::kDriver}) Session::instance().enable_callbacks(api, false);
    Session::instance().enable_resource_callback(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, false);
    subscriber = nullptr;
  });
}

CUptiResult cuptiGetCallbackState(uint32_t* enabled, CUpti_SubscriberHandle handle,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return guarded([&] {
    require(enabled != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    check_subscriber(handle);
    const Api api = api_of(domain);
    require(id > 0 && id < ids_of(api), CUPTI_ERROR_INVALID_PARAMETER);
    *enabled = Session::instance().calls_back(api, id);
  });
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  return guarded([&] {
    check_subscriber(handle);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
      return Session::instance().enable_resource_callback(id, enable != 0);
    Session::instance().enable_callback(api_of(domain), id, enable != 0);
  });
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  return guarded([&] {
    check_subscriber(handle);
    Session::instance().enable_callbacks(api_of(domain), enable != 0);
  });
}

// All that cuptiSupportedDomains names.
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle) {
  return guarded([&] {
    check_subscriber(handle);
    for (const Api api : {Api::kRuntime, Api::kDriver})
      Session::instance().enable_callbacks(api, enable != 0);
  });
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  return guarded([&] {
    require(name != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
    *name = nullptr;
    require(domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API,
            CUPTI_ERROR_INVALID_PARAMETER);
    *name = callback_name(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? Api::kRuntime : Api::kDriver, id);
    require(*name != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  });
}

}  // extern "C"
