// Processes, or devices of one, that join one group under one number, at one time.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

struct JoinedAlike {
  std::int32_t rank;
  model::EventRef first, second;  // the calls that show it, of two processes, or of one for two devices
  bool overlap_certain;  // both lived at one time, whatever the clocks' error; else as hosts are placed
};

enum class JoinedBy : std::uint8_t {
  kCommunicator,
  kStore,   // as a rank of the default group of torch.distributed
  kAgents,  // of torchrun: the numbers are node ranks, the size that of those seen
};

struct CrowdedGroup {
  std::int32_t size;
  JoinedBy by;
  std::vector<JoinedAlike> alike;      // by rank; of more than two processes the first two
  std::vector<std::int32_t> left_out;  // numbers that nobody has, if as many joins were called as the
                                       // group's size; of agents: those that they wait for in vain
};

// Communicators of NCCL by their unique id, or several of the world's size that as many processes as it has
// ranks asked for, each once; as far as calls that asked for them, or the group around those, failed or never
// returned, if all agree on the size; the default group of torch.distributed on Gloo and the
// agents of torchrun, by the same key in one store. A store is what is at one address of the network, or at a
// loopback address for the children of one parent. Left out are processes of which the one had ended when the
// other joined (it took over), and those that became another program.
std::vector<CrowdedGroup> find_crowded_groups(const model::Job& job);

}  // namespace ddpscope::patterns
