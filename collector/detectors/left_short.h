// Ranks that end well one collective or more short of their peers, who do not wait for them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Of one communicator whose members agree up to the end of some. These destroyed it, or ended with 0, before
// anything went wrong on any member: an error or abort of the communicator, a failure, a signal to end. No
// wait of the others stayed without an end (that would be a hang).
struct LeftShort {
  std::uint32_t communicator;
  std::vector<std::uint32_t> ended;     // members that make no more calls, ascending
  std::vector<std::uint32_t> going_on;  // likewise, that make another
  std::uint32_t call;                   // the first of them, in Collectives::calls
  bool given_up;                        // by those that go on: they abort the communicator, or fail
};

std::vector<LeftShort> find_left_short(const CallFacts& facts);

// Likely: whether the call is missing on one side or too many on the other nothing shows. A warning where the
// run came to a good end, else an error.
findings::Finding tell_left_short(const CallFacts& facts, const LeftShort& left, std::string_view slug);

}  // namespace ddpscope::detectors
