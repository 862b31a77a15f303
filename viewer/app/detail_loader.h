// All that is known of one event, read by another thread: it lies in a block that has to come from the disk
// and be unpacked.
#pragma once
#include <functional>
#include <future>
#include <optional>

#include "collector/merged/reader.h"

namespace ddpscope::viewer {

// Of one event at a time, the one that was asked for last. `reader` must outlive it.
class DetailLoader {
 public:
  explicit DetailLoader(const merged::Reader& reader) : reader_(reader) {}
  DetailLoader(const DetailLoader&) = delete;

  // Nothing: it is not there yet, or cannot be read. `wait`: for a picture, which has the time.
  const merged::Detail* get(merged::EventPlace place, bool wait);
  // Called by the other thread when something has come. Set it before the first get.
  void on_arrival(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  void take_if_there(bool wait);

  const merged::Reader& reader_;
  std::function<void()> wake_;
  merged::EventPlace asked_{}, known_{};  // that is coming; that is there
  std::optional<merged::Detail> detail_;
  std::future<Result<merged::Detail>> coming_;
  std::future<void> worker_;  // last: it is waited for before the rest goes
};

}  // namespace ddpscope::viewer
