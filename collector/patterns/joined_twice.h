// Processes that join one group under one number, at one time.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

struct JoinedAlike {
  std::int32_t rank;
  model::EventRef first, second;  // the calls that show it, of two processes
  bool overlap_certain;  // both lived at one time, whatever the clocks' error; else as hosts are placed
};

struct CrowdedGroup {
  std::int32_t size;
  bool by_store;
  std::vector<JoinedAlike> alike;      // by rank; of more than two processes the first two
  std::vector<std::int32_t> left_out;  // numbers that nobody has, if as many joined as the group's size
};

// Communicators of NCCL by their unique id, as far as calls that asked for them failed or never returned, if
// all agree on the size, and the default group of torch.distributed on Gloo, by the same key in one store. A
// store is what is at one address of the network, or at a loopback address for the children of one parent.
// Left out are processes of which the one had ended when the other joined (it took over), and those that
// became another program.
std::vector<CrowdedGroup> find_crowded_groups(const model::Job& job);

}  // namespace ddpscope::patterns
