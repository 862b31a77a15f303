// The cheapest way to turn what one rank goes on with into what another goes on with: its first step.
#pragma once
#include <cstdint>
#include <functional>

namespace ddpscope::matching {

enum class Step : std::uint8_t {
  kMatch,       // the two heads are the same call
  kDifferent,   // they stand for each other, but differ
  kOnlyFirst,   // the first sequence's head has no counterpart
  kOnlySecond,  // the second's
  kOnlyOne,     // either's, as well: both go on in turns of two calls, one call apart
};

// cost(i, j): of taking element i of the first for element j of the second; 0 same, kSamePlace or more:
// differ. Costs: leaving an element out is kGap. The end of either sequence (or of the look-ahead) closes the
// script for free, for nobody knows how it went on.
constexpr int kGap = 4;
constexpr int kOtherSite = 3;  // same signature from another place in the code
constexpr int kSamePlace = 5;  // another signature from the same place
constexpr int kUnrelated = 7;  // neither: cheaper than leaving out both
constexpr std::size_t kLookAhead = 64;

Step first_step(std::size_t first_size, std::size_t second_size,
                const std::function<int(std::size_t, std::size_t)>& cost);

}  // namespace ddpscope::matching
