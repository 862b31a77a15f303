// Which collectives are barriers: they move nothing that anybody reads, the host only waits for them.
#pragma once
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::patterns {

// By call, as in Collectives::calls. An all-reduce of one element is a barrier if PyTorch issued it in a
// barrier of a process group. Where no call of PyTorch issued it: if its thread then waits for it and its
// buffer is not copied down to the host (as torch.distributed.barrier and its kin do, whatever the type of
// the element).
std::vector<bool> find_barriers(const model::Job& job, const matching::Collectives& collectives,
                                const ordering::DeviceOrder& device_order);

}  // namespace ddpscope::patterns
