// Under which rank a process tells torch.distributed's default group of itself, by the store, without a
// launcher; which rank it has in a group, by PyTorch's own calls; and under which node rank an agent of
// torchrun tells the others.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::reading {

struct AnnouncedRank {
  std::int32_t rank;
  model::EventPlace place;  // of the request that sets the key
};

// Of Gloo's default group; empty if the process has told the store of none.
std::optional<AnnouncedRank> find_announced_rank(const model::Process& process);

// In the largest of PyTorch's process groups that a process joined; of several such, the first.
struct JoinedGroup {
  std::int32_t rank, size;
  model::EventPlace place;  // of its making
};
std::optional<JoinedGroup> find_joined_group(const model::Process& process);

struct AnnouncedNode {
  std::string_view rendezvous;  // what its agents' keys begin with: another one in each round
  std::int32_t node_rank;
  model::EventPlace place;             // of the request that sets the key
  std::optional<std::int32_t> awaits;  // whose key it asked for last of all, and waits for
};

// Of an agent of torchrun, in the order of its rendezvous; empty for what is none.
std::vector<AnnouncedNode> find_announced_nodes(const model::Process& process);

}  // namespace ddpscope::reading
