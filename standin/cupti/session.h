// What the client has asked for: kinds of records, single functions, callbacks, the clock.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "standin/cupti/callback_ids.h"

namespace ddpscope::standin::cupti {

/// A flag for each function of the runtime and of the driver.
class FunctionFlags {
 public:
  bool get(Api api, CUpti_CallbackId id) const { return flag(api, id).load(std::memory_order_relaxed); }
  void set(Api api, CUpti_CallbackId id, bool value) { flag(api, id) = value; }
  void set_all(Api api, bool value);
  bool any() const;

 private:
  std::atomic<bool>& flag(Api api, CUpti_CallbackId id) {
    return api == Api::kRuntime ? runtime_[id] : driver_[id];
  }
  const std::atomic<bool>& flag(Api api, CUpti_CallbackId id) const {
    return api == Api::kRuntime ? runtime_[id] : driver_[id];
  }

  std::array<std::atomic<bool>, kRuntimeIds> runtime_{};
  std::array<std::atomic<bool>, kDriverIds> driver_{};
};

class Session {
 public:
  static Session& instance();

  /// Fail with CUPTI_ERROR_INVALID_KIND for what is no kind, CUPTI_ERROR_NOT_SUPPORTED for one that is not
  /// provided, CUPTI_ERROR_NOT_COMPATIBLE for the other kind of kernel records.
  void enable(CUpti_ActivityKind kind, bool on);
  bool enabled(CUpti_ActivityKind kind) const { return kinds_[kind].load(std::memory_order_relaxed); }

  /// Of one device's context, which supersedes what holds for all. Kinds of what streams run only: others
  /// fail with CUPTI_ERROR_NOT_SUPPORTED.
  void enable_on(int device, CUpti_ActivityKind kind, bool on);
  bool enabled_on(int device, CUpti_ActivityKind kind) const;

  /// Records of single functions.
  void record(Api api, CUpti_CallbackId id, bool on);
  bool recorded(Api api, CUpti_CallbackId id) const { return recorded_.get(api, id); }

  void enable_callback(Api api, CUpti_CallbackId id, bool on);
  void enable_callbacks(Api api, bool on);
  bool calls_back(Api api, CUpti_CallbackId id) const { return called_back_.get(api, id); }

  /// Of the resources only the creation and the end of contexts; they end with the process, without a call.
  void enable_resource_callback(CUpti_CallbackId id, bool on);
  std::atomic<bool> context_callbacks{false};

  /// Nanoseconds of the client's clock, else of CLOCK_REALTIME.
  std::uint64_t now() const;
  void set_clock(CUpti_TimestampCallbackFunc clock) { clock_ = clock; }

  std::atomic<bool> latency_timestamps{false};
  std::atomic<bool> all_synchronizations{true};  ///< also queries that find work unfinished
  std::atomic<CUpti_ActivityThreadIdType> thread_id_type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

  std::uint32_t thread_id() const;

  /// Nobody wants anything any more.
  void reset();

 private:
  void attach_or_detach();

  enum class Setting : std::uint8_t { kNone, kOn, kOff };
  static constexpr std::size_t kDevices = 64;

  std::array<std::atomic<bool>, CUPTI_ACTIVITY_KIND_COUNT> kinds_{};
  std::array<std::array<std::atomic<Setting>, CUPTI_ACTIVITY_KIND_COUNT>, kDevices> contexts_{};
  FunctionFlags recorded_;
  FunctionFlags called_back_;
  std::atomic<CUpti_TimestampCallbackFunc> clock_{nullptr};
};

}  // namespace ddpscope::standin::cupti

/// The one subscriber. Never freed: a thread may be on its way into the callback.
struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user_data;
  std::string name;
};

namespace ddpscope::standin::cupti {

/// Who is subscribed; null if nobody.
extern std::atomic<CUpti_Subscriber_st*> subscriber;

}  // namespace ddpscope::standin::cupti
