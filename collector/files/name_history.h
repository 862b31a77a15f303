// Which calls bring names into being.
#pragma once
#include "collector/files/shared_names.h"

namespace ddpscope::files {

// Fills in `made`, `fresh` and `maker` of the events, which are in the order of begin.
void mark_makers(SharedNames& names);

}  // namespace ddpscope::files
