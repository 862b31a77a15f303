// Vector clocks of one length: made and dropped by the million, so none is an allocation of its own.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace ddpscope::ordering {

using ClockId = std::uint32_t;
constexpr ClockId kNoClock = std::numeric_limits<ClockId>::max();

// Each clock is counted: whoever keeps it drops it once.
class ClockPool {
 public:
  explicit ClockPool(std::size_t size) : size_(size) {}

  std::size_t size() const { return size_; }
  ClockId make() {  // kept once; its values are anything
    if (free_.empty()) add_block();
    ClockId clock = free_.back();
    free_.pop_back();
    counts_[clock] = 1;
    return clock;
  }
  ClockId keep(ClockId clock) {
    if (clock != kNoClock) ++counts_[clock];
    return clock;
  }
  void drop(ClockId clock) {
    if (clock != kNoClock && --counts_[clock] == 0) free_.push_back(clock);
  }

  std::int64_t* values(ClockId clock) { return blocks_[clock / kInBlock].get() + clock % kInBlock * size_; }
  const std::int64_t* values(ClockId clock) const {
    return blocks_[clock / kInBlock].get() + clock % kInBlock * size_;
  }

 private:
  static constexpr ClockId kInBlock = 1024;

  void add_block() {
    auto first = static_cast<ClockId>(counts_.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::int64_t[]>(kInBlock * size_));
    counts_.resize(counts_.size() + kInBlock);
    for (ClockId i = kInBlock; i-- > 0;) free_.push_back(first + i);
  }

  std::size_t size_;
  std::vector<std::unique_ptr<std::int64_t[]>> blocks_;
  std::vector<std::uint32_t> counts_;  // by clock
  std::vector<ClockId> free_;
};

}  // namespace ddpscope::ordering
