// Puts words together into one that tells them apart.
#pragma once
#include <cstdint>

namespace ddpscope::model {

// The hash so far and the next word.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace ddpscope::model
