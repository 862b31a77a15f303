// A summary of a trace.
#pragma once
#include "collector/commands/command.h"
#include "collector/summary/summary.h"

namespace ddpscope::commands {

// A trace that can be read in part only is an error: what was not read would be taken for a difference. A
// merged file says what its trace does.
Result<summary::Summary> summarise_trace(const TraceOptions& of);

}  // namespace ddpscope::commands
