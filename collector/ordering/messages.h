// Which receive gets which send of a communicator.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "collector/matching/collectives.h"

namespace ddpscope::ordering {

// The n-th send from one member to another is what that one's n-th receive gets: their numbers in
// Collectives::calls, the send first.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_messages(
    const matching::Collectives& collectives, const matching::Communicator& communicator);

}  // namespace ddpscope::ordering
