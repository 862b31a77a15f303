// Which calls bring names into being.
#pragma once
#include "collector/files/shared_names.h"

namespace ddpscope::files {

// By a process of no rank: a launcher, the script that starts the ranks.
struct MadeOutside {
  std::int64_t at_ns;
  Name name;
};

// Fills in `made`, `fresh` and `maker` of the events, which are in the order of begin, as `outside` is.
void mark_makers(SharedNames& names, const std::vector<MadeOutside>& outside);

}  // namespace ddpscope::files
