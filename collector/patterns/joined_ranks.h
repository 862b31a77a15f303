// Under which number each process joined the group of all, and which one its environment gives it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct RankClaim {
  const char* variable;
  std::int32_t rank;
  bool sized;  // the size that goes with it is that of the group; else there is none
};

struct JoinedRank {
  std::uint32_t process;
  std::int32_t rank;
  model::EventRef event;           // the call that shows it
  std::optional<RankClaim> claim;  // what the environment says of this one process
};

struct WorldGroup {
  std::int32_t size;
  bool by_store;  // told to Gloo's peers through the store; else by making a communicator
  std::vector<JoinedRank> members;
};

// Groups of all ranks of the job: communicators of the world's size that were not split off another; where no
// communicator was recorded, what processes announce to the default group of torch.distributed on Gloo, or
// else the rank that PyTorch's own calls give them in the largest group of theirs.
//
// Of a process that holds several ranks the environment says nothing. A claim is the first variable that
// numbers ranks of a job, in the order of trace::kRankVariables. It is none if a size goes with it that is
// another than the group's (it then numbers nodes, or a job around this one), or if all children of one
// parent on a host have the same number: it was meant for the parent. Without a size all on one host must not
// have the same.
std::vector<WorldGroup> find_world_groups(const model::Job& job, const matching::Collectives& collectives);

}  // namespace ddpscope::patterns
