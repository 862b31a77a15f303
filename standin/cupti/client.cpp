// Callbacks at the begin and the end of a call; records of calls, waits and activities.
#include "standin/cupti/client.h"

#include <atomic>
#include <cstring>

#include "standin/cupti/buffers.h"
#include "standin/cupti/external_ids.h"
#include "standin/cupti/records.h"
#include "standin/cupti/runtime.h"
#include "standin/cupti/session.h"

namespace ddpscope::standin::cupti {
namespace {

std::uint32_t next_correlation() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t id = ++last;
  if (id == CUPTI_CORRELATION_ID_UNKNOWN) id = ++last;
  return id;
}

template <class Record>
void put(const Record& record) {
  Buffers::instance().put(&record, sizeof record);
}

/// The kernel that a launching function is about to launch: its name comes from the first parameter.
const char* launched_kernel(const ApiCall& call) {
  if (call.kernel) return call.kernel;
  const std::string_view function = call.function;
  const void* first = nullptr;
  if (function == "cudaLaunchKernelExC") {
    std::memcpy(&first, static_cast<const char*>(call.parameters) + sizeof(void*), sizeof first);
  } else if (function == "cudaLaunchKernel" || function == "__cudaLaunchKernel" ||
             function == "cudaLaunchCooperativeKernel") {
    std::memcpy(&first, call.parameters, sizeof first);
  }
  return first ? runtime().kernel_name(first) : nullptr;
}

void call_back(ApiCall& call, CUpti_ApiCallbackSite site) {
  CUpti_Subscriber_st* const to = subscriber.load(std::memory_order_acquire);
  if (!to || !to->callback || !Session::instance().calls_back(call.api, call.callback_id)) return;
  const int device = runtime().current_device();
  cudaError_t result = *call.result;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.function;
  data.functionParams = call.parameters;
  data.functionReturnValue = site == CUPTI_API_EXIT ? &result : nullptr;
  data.symbolName = launched_kernel(call);
  if (device >= 0) {
    data.context = context_handle(device);
    data.contextUid = context_of(device);
  }
  data.correlationData = &call.client_data;
  data.correlationId = call.correlation;
  const auto domain = call.api == Api::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  to->callback(to->user_data, domain, call.callback_id, &data);
}

/// An activity between being queued and its end.
class Recording final : public Run {
 public:
  Recording(const Activity& activity, CUpti_ActivityKind kind, std::uint32_t correlation)
      : activity_(activity), kind_(kind), correlation_(correlation) {
    const Session& session = Session::instance();
    if (session.latency_timestamps) times_.queued = session.now();
    place_ = Buffers::instance().reserve(record_size(kind));
  }

  void starts() override { times_.start = Session::instance().now(); }

  void ended() override {
    times_.end = Session::instance().now();
    switch (kind_) {
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return complete(copy_record(activity_, correlation_, times_));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return complete(peer_copy_record(activity_, correlation_, times_));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return complete(fill_record(activity_, correlation_, times_));
      default:
        return complete(kernel_record(activity_, kind_, correlation_, times_));
    }
  }

 private:
  template <class Record>
  void complete(const Record& record) {
    Buffers::instance().complete(place_, &record, sizeof record);
  }

  const Activity activity_;
  const CUpti_ActivityKind kind_;
  const std::uint32_t correlation_;
  Times times_;
  Buffers::Place place_;
};

/// The kind of record that an activity gets; INVALID for none.
CUpti_ActivityKind wanted_kind(const Activity& activity) {
  const Session& session = Session::instance();
  const auto if_enabled = [&](CUpti_ActivityKind kind) {
    return session.enabled_on(activity.device, kind) ? kind : CUPTI_ACTIVITY_KIND_INVALID;
  };
  switch (activity.kind) {
    case Activity::kFill:
      return if_enabled(CUPTI_ACTIVITY_KIND_MEMSET);
    case Activity::kCopy: {
      const bool between_devices =
          activity.from_device >= 0 && activity.to_device >= 0 && activity.from_device != activity.to_device;
      return if_enabled(between_devices ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY);
    }
    case Activity::kKernel:
      break;
  }
  const auto alone = if_enabled(CUPTI_ACTIVITY_KIND_KERNEL);
  return alone ? alone : if_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

class Client final : public Observer {
 public:
  void begins(ApiCall& call) override {
    call.callback_id = callback_id(call.api, call.function);
    call.correlation = next_correlation();
    call_back(call, CUPTI_API_ENTER);
    call.begin = now();
  }

  void ended(ApiCall& call) override {
    const std::uint64_t end = now();
    call_back(call, CUPTI_API_EXIT);
    const Session& session = Session::instance();
    if (!call.callback_id || !session.recorded(call.api, call.callback_id)) return;
    if (session.enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
      for (const ExternalId& id : external_ids()) put(external_record(id.kind, id.id, call.correlation));
    }
    put(api_record(call, end, session.thread_id()));
  }

  std::shared_ptr<Run> queued(const Activity& activity, const ApiCall* call) override {
    const CUpti_ActivityKind kind = wanted_kind(activity);
    if (kind == CUPTI_ACTIVITY_KIND_INVALID) return nullptr;
    return std::make_shared<Recording>(activity, kind, call ? call->correlation : next_correlation());
  }

  void synchronized(const Synchronization& wait, const ApiCall* call) override {
    const Session& session = Session::instance();
    if (!session.enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
    if (wait.result != cudaSuccess && !session.all_synchronizations) return;
    put(synchronization_record(wait, call ? call->correlation : CUPTI_CORRELATION_ID_UNKNOWN, now()));
  }

  void context_created(int device) override {
    CUpti_Subscriber_st* const to = subscriber.load(std::memory_order_acquire);
    if (!to || !to->callback || !Session::instance().context_callbacks) return;
    CUpti_ResourceData data{};
    data.context = context_handle(device);
    to->callback(to->user_data, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  }

  std::uint64_t now() override { return Session::instance().now(); }

  bool serializes_kernels() override { return Session::instance().enabled(CUPTI_ACTIVITY_KIND_KERNEL); }
};

}  // namespace

Observer& client() {
  static Client only;
  return only;
}

}  // namespace ddpscope::standin::cupti
