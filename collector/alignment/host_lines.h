// Chains the offsets between pairs of hosts, so that each host has a line to one of its group.
#pragma once
#include "collector/alignment/exchanges.h"

namespace ddpscope::alignment {

// Sets group, pieces, bound and kind of alignment of each host. Hosts between which no chain of exchanges
// leads get groups of their own, and keep their place.
void align_by_exchanges(model::Job& job, Exchanges exchanges);

}  // namespace ddpscope::alignment
