// Calls that still pair where earlier ones were left out when the files were read: by their sequence numbers.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "collector/matching/collectives.h"

namespace ddpscope::matching {

// Of the latest sequence numbers without a gap the first one; they are sorted. There is one at least.
std::uint32_t first_of_latest(std::vector<std::uint32_t>& sequences);

// By communicator and member of whose calls earlier ones were not read: the number of the first one that was.
using FirstKnown = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

// Ordinals count from the first call that is known of all members. Who has none left, or counts what is in no
// list among them (`counts_others`: sends, receives, one-sided calls), cannot be paired. `sequences_of`: of a
// member's calls, in their order.
void begin_together(const FirstKnown& first_known, Collectives& collectives,
                    const std::function<bool(const Member&)>& counts_others,
                    const std::function<std::vector<std::uint32_t>(const Member&)>& sequences_of);

}  // namespace ddpscope::matching
