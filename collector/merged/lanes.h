// Deals intervals out to tracks so that none overlap: calls that nest stand one deeper than who made them.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace ddpscope::merged {

class Lanes {
 public:
  static constexpr std::size_t kMostDepths = 64;  // more overlap in no sound trace

  // Intervals in the order of their begin. The lowest depth that is free; nothing if too many overlap. One
  // without an end keeps its depth for good.
  std::optional<std::uint16_t> place(std::int64_t begin_ns, std::int64_t end_ns, bool open) {
    for (std::size_t depth = 0; depth < kMostDepths; ++depth) {
      if (depth == free_from_.size()) free_from_.push_back(std::numeric_limits<std::int64_t>::min());
      if (free_from_[depth] > begin_ns) continue;
      free_from_[depth] = open ? std::numeric_limits<std::int64_t>::max() : end_ns;
      return static_cast<std::uint16_t>(depth);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::int64_t> free_from_;  // by depth
};

}  // namespace ddpscope::merged
