// Which of a file's clock readings can be right: both clocks only ever go forward, and together.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace ddpscope::trace {

class ClockReadings {
 public:
  // `readings`: those of one file, in any order, the more the better; of two that disagree neither is sound.
  ClockReadings(ClockKind kind, std::uint64_t tick_hz, const std::vector<ClockTuple>& readings);

  // Agrees with more than half of them, itself among them, to a second and a hundredth of the time between.
  // The wall clock, which may be set, to a day.
  bool sound(const ClockTuple& reading) const;

  // What so many seconds are in ticks, at the most if the rate is not known well.
  double ticks_of(double seconds) const;

 private:
  bool agree(const ClockTuple& a, const ClockTuple& b) const;

  double slowest_, fastest_;  // ns a tick
  std::vector<ClockTuple> sample_;
};

}  // namespace ddpscope::trace
