// What of a track is drawn in a view: descends its pyramid only where a node is wider than a pixel or two, so
// the work goes with the pixels, not with the events.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/view/folding.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

// How long a frame may look at tracks, and whether it may wait for the disk (pictures do). Where time is up
// or a page is not there, the coarser node is drawn, `complete` becomes false and what is missing is asked
// for.
class WalkBudget {
 public:
  static WalkBudget unlimited() { return WalkBudget(); }
  static WalkBudget of(std::chrono::microseconds time) {
    WalkBudget budget;
    budget.limited_ = true;
    budget.deadline_ = std::chrono::steady_clock::now() + time;
    return budget;
  }
  bool limited() const { return limited_; }
  bool spent() {
    if (!limited_) return false;
    if (!over_ && ++asked_ % 64 == 0) over_ = std::chrono::steady_clock::now() >= deadline_;
    return over_;
  }
  void leave_out() { complete_ = false; }
  bool complete() const { return complete_; }

 private:
  bool limited_ = false, over_ = false, complete_ = true;
  unsigned asked_ = 0;
  std::chrono::steady_clock::time_point deadline_;
};

// Appends to `bars`, by time.
void walk_track(const merged::Reader& reader, std::uint32_t track, const TimeView& view, WalkBudget& budget,
                std::vector<Bar>& bars);

// The event at t_ns, or the nearest of those that end no more than `slack_ns` before or begin no more after
// it; kNoEvent.
merged::EventPlace event_at(const merged::Reader& reader, std::uint32_t track, std::int64_t t_ns,
                            std::int64_t slack_ns);

}  // namespace ddpscope::viewer
