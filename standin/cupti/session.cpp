// The switches, and when the runtime is told that somebody looks on.
#include "standin/cupti/session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "standin/cupti/boundary.h"
#include "standin/cupti/client.h"
#include "standin/cupti/runtime.h"

namespace ddpscope::standin::cupti {
namespace {

constexpr CUpti_ActivityKind kProvided[] = {
    CUPTI_ACTIVITY_KIND_KERNEL,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};

}  // namespace

constinit std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};

void FunctionFlags::set_all(Api api, bool value) {
  for (CUpti_CallbackId id = 1; id < ids_of(api); ++id) set(api, id, value);
}

bool FunctionFlags::any() const {
  const auto is_set = [](const std::atomic<bool>& flag) { return flag.load(); };
  return std::ranges::any_of(runtime_, is_set) || std::ranges::any_of(driver_, is_set);
}

Session& Session::instance() {
  static auto* only = new Session;
  return *only;
}

void Session::enable(CUpti_ActivityKind kind, bool on) {
  require(kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT, CUPTI_ERROR_INVALID_KIND);
  if (std::ranges::find(kProvided, kind) == std::end(kProvided)) {
    if (!on) return;  // it never was
    throw Failure{refuse(("activity kind " + std::to_string(kind)).c_str())};
  }
  if (on) {
    runtime();
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
      require(!enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      require(!enabled(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
  }
  kinds_[kind] = on;
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) recorded_.set_all(Api::kRuntime, on);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) recorded_.set_all(Api::kDriver, on);
  attach_or_detach();
}

void Session::enable_on(int device, CUpti_ActivityKind kind, bool on) {
  constexpr CUpti_ActivityKind kOfStreams[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
  require(kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT, CUPTI_ERROR_INVALID_KIND);
  require(device >= 0 && static_cast<std::size_t>(device) < kDevices, CUPTI_ERROR_INVALID_CONTEXT);
  if (std::ranges::find(kOfStreams, kind) == std::end(kOfStreams))
    throw Failure{refuse(("activity kind " + std::to_string(kind) + " of one context").c_str())};
  contexts_[static_cast<std::size_t>(device)][kind] = on ? Setting::kOn : Setting::kOff;
  attach_or_detach();
}

bool Session::enabled_on(int device, CUpti_ActivityKind kind) const {
  const Setting own = contexts_[static_cast<std::size_t>(device)][kind].load(std::memory_order_relaxed);
  return own == Setting::kNone ? enabled(kind) : own == Setting::kOn;
}

void Session::record(Api api, CUpti_CallbackId id, bool on) {
  require(id > 0 && id < ids_of(api), CUPTI_ERROR_INVALID_PARAMETER);
  if (on) runtime();
  recorded_.set(api, id, on);
  attach_or_detach();
}

void Session::enable_callback(Api api, CUpti_CallbackId id, bool on) {
  require(id > 0 && id < ids_of(api), CUPTI_ERROR_INVALID_PARAMETER);
  called_back_.set(api, id, on);
  attach_or_detach();
}

void Session::enable_callbacks(Api api, bool on) {
  called_back_.set_all(api, on);
  attach_or_detach();
}

void Session::enable_resource_callback(CUpti_CallbackId id, bool on) {
  require(id > CUPTI_CBID_RESOURCE_INVALID && id < CUPTI_CBID_RESOURCE_SIZE, CUPTI_ERROR_INVALID_PARAMETER);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) return;
  if (id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
    throw Failure{refuse(("callback of resource " + std::to_string(id)).c_str())};
  context_callbacks = on;
  attach_or_detach();
}

void Session::attach_or_detach() {
  const bool of_a_context = std::ranges::any_of(contexts_, [](const auto& kinds) {
    return std::ranges::any_of(kinds, [](const auto& kind) { return kind.load() == Setting::kOn; });
  });
  const bool wanted = std::ranges::any_of(kinds_, [](const auto& kind) { return kind.load(); }) ||
                      of_a_context || context_callbacks || recorded_.any() || called_back_.any();
  runtime().observe(wanted ? &client() : nullptr);
}

std::uint64_t Session::now() const {
  if (const auto clock = clock_.load(std::memory_order_acquire)) return clock();
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint32_t Session::thread_id() const {
  const bool system = thread_id_type.load() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return static_cast<std::uint32_t>(system ? static_cast<unsigned long>(syscall(SYS_gettid))
                                           : pthread_self());
}

void Session::reset() {
  for (auto& kind : kinds_) kind = false;
  for (auto& kinds : contexts_)
    for (auto& kind : kinds) kind = Setting::kNone;
  for (const Api api : {Api::kRuntime, Api::kDriver}) {
    recorded_.set_all(api, false);
    called_back_.set_all(api, false);
  }
  context_callbacks = false;
  clock_ = nullptr;
  latency_timestamps = false;
  all_synchronizations = true;
  thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
}

}  // namespace ddpscope::standin::cupti
