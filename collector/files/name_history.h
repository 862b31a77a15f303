// Which calls bring names into being.
#pragma once
#include "collector/files/shared_names.h"

namespace ddpscope::files {

// Fills in `made` and `fresh`. Events are in the order of begin.
void mark_makers(trace::Table<FileEvent>& events);

}  // namespace ddpscope::files
