// Opaque handles of the API: which ones are alive, and the object behind each.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "standin/cuda/entry.h"

namespace ddpscope::standin {

/// Owns the objects behind handles of type Handle (a pointer type of the API). Thread-safe. Objects that
/// are still in use when their handle is destroyed live on through the shared pointers others hold.
template <class Handle, class Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const Handle handle = reinterpret_cast<Handle>(object.get());
    std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// Fails with cudaErrorInvalidResourceHandle where the handle is unknown or destroyed.
  std::shared_ptr<Object> find(Handle handle) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    require(found != objects_.end(), cudaErrorInvalidResourceHandle);
    return found->second;
  }

  /// As find, and forgets the handle.
  std::shared_ptr<Object> take(Handle handle) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    require(found != objects_.end(), cudaErrorInvalidResourceHandle);
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace ddpscope::standin
