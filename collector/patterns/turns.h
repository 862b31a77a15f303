// How the collectives of a communicator fall into the turns of its members: steps of the training or, where
// these are not known, stretches that end with a wait of the host.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/framework_steps.h"

namespace ddpscope::patterns {

struct Turn {
  std::uint32_t first, end;  // ordinals in the communicator
};

// By the first member. Of a communicator whose collectives nothing cuts into turns: none.
std::vector<Turn> find_turns(const model::Job& job, const matching::Collectives& collectives,
                             const ordering::DeviceOrder& device_order, std::uint32_t communicator);

// Likewise of a process group whose collectives run on the hosts: steps are those of PyTorch's optimizers.
// `steps`: by process.
std::vector<Turn> find_host_turns(const std::vector<FrameworkSteps>& steps,
                                  const matching::Collectives& groups, const ordering::DeviceOrder& waits,
                                  std::uint32_t group);

}  // namespace ddpscope::patterns
