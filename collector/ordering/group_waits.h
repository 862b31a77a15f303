// When hosts knew that operations of process groups were complete: by Work::wait, and by the reducer's own
// wait at the end of a backward pass.
#pragma once
#include "collector/ordering/device_order.h"

namespace ddpscope::ordering {

// As find_device_order(), for matching::find_group_collectives(): no stream takes part, a wait covers the
// operation whose object it is called on.
DeviceOrder find_group_waits(const model::Job& job, const matching::Collectives& groups);

}  // namespace ddpscope::ordering
