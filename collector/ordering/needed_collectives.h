// Which collectives the graph needs: most are followed in their stream by one that says the same and more.
#pragma once
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::ordering {

// By call. Not needed is a collective that neither a wait nor another stream looks at, if on every member the
// next in its stream is the communicator's next collective, enqueued by the same thread, and that one orders
// at least the same members: whatever passes through the first passes through the second as well.
std::vector<bool> find_needed_collectives(const matching::Collectives& collectives,
                                          const DeviceOrder& device_order);

}  // namespace ddpscope::ordering
