// What has to come from the disk and be unpacked, or counted: read by another thread.
#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "trace/result.h"

namespace ddpscope::viewer {

// One value at a time, that of the key that was asked for last. One read is under way at most; what is asked
// for meanwhile comes after it. What `read` looks at must outlive this.
template <class Key, class Value>
class Loader {
 public:
  using Read = std::function<Result<Value>(const Key&)>;
  explicit Loader(Read read) : read_(std::move(read)) {}
  Loader(const Loader&) = delete;

  // Null: it is not there yet, or cannot be read. `wait`: for a picture, which has the time.
  const Value* get(const Key& key, bool wait) {
    take_if_there(wait);
    if (known_ != key && !coming_.valid()) start(key);
    take_if_there(wait);
    return known_ == key && value_ ? &*value_ : nullptr;
  }

  // For who acts on a value once: take() hands out what was asked for last, when it has come. waits(): it has
  // neither come yet nor turned out to be unreadable.
  void ask(const Key& key) { wanted_ = key; }
  bool waits() const { return wanted_.has_value(); }
  const Value* take(bool wait) {
    if (!wanted_) return nullptr;
    const Value* value = get(*wanted_, wait);
    if (known_ == wanted_) wanted_.reset();
    return value;
  }

  // Called by the other thread when something has come. Set it before the first get.
  void on_arrival(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  void take_if_there(bool wait) {
    if (!coming_.valid()) return;
    if (!wait && coming_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    auto came = coming_.get();
    known_ = asked_;
    value_ = came ? std::optional(std::move(*came)) : std::nullopt;
  }

  void start(const Key& key) {
    std::promise<Result<Value>> promise;
    coming_ = promise.get_future();
    asked_ = key;
    worker_ = std::async(std::launch::async, [this, key, promise = std::move(promise)]() mutable {
      promise.set_value(read_(key));
      if (wake_) wake_();
    });
  }

  Read read_;
  std::function<void()> wake_;
  std::optional<Key> asked_, known_, wanted_;  // that is coming; that is there; that take() is for
  std::optional<Value> value_;
  std::future<Result<Value>> coming_;
  std::future<void> worker_;  // last: it is waited for before the rest goes
};

}  // namespace ddpscope::viewer
