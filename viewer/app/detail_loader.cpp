// One read is under way at most; what is asked for meanwhile comes after it.
#include "viewer/app/detail_loader.h"

#include <chrono>

namespace ddpscope::viewer {

void DetailLoader::take_if_there(bool wait) {
  if (!coming_.valid()) return;
  if (!wait && coming_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  auto came = coming_.get();
  known_ = asked_;
  detail_ = came ? std::optional(std::move(*came)) : std::nullopt;
}

const merged::Detail* DetailLoader::get(merged::EventPlace place, bool wait) {
  take_if_there(wait);
  if (known_ != place && !coming_.valid()) {
    asked_ = place;
    std::promise<Result<merged::Detail>> promise;
    coming_ = promise.get_future();
    worker_ = std::async(std::launch::async, [this, place, promise = std::move(promise)]() mutable {
      promise.set_value(reader_.detail(place));
      if (wake_) wake_();
    });
    take_if_there(wait);
  }
  return known_ == place && detail_ ? &*detail_ : nullptr;
}

}  // namespace ddpscope::viewer
