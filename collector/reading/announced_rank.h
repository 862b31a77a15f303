// Under which rank a process tells torch.distributed's default group of itself, by the store, without a
// launcher.
#pragma once
#include <optional>

#include "collector/model/job.h"

namespace ddpscope::reading {

struct AnnouncedRank {
  std::int32_t rank;
  model::EventPlace place;  // of the request that sets the key
};

// Of Gloo's default group; empty if the process has told the store of none.
std::optional<AnnouncedRank> find_announced_rank(const model::Process& process);

}  // namespace ddpscope::reading
