// The sends and receives of a communicator, each with its other end.
#pragma once
#include "collector/merged/call_arrivals.h"

namespace ddpscope::merged {

// So many sends and receives that their index would take more room than all the rest.
bool are_too_many(const matching::Communicator& communicator);

// In order of time, as the collectives of the row that was begun; none if they are too many.
void write_messages(Making& making, const matching::Collectives& collectives, std::uint32_t communicator,
                    const CallArrivals& arrivals);

}  // namespace ddpscope::merged
