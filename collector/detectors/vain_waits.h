// The waits of hosts in a hang, and how they were aborted: by a watchdog, as a rule.
#pragma once
#include <string>

#include "collector/detectors/hangs.h"

namespace ddpscope::detectors {

// The wait of a member that waits, and, if that ended it, the abort of the communicator or of the process.
void add_vain_wait(const CallFacts& facts, const Hang& hang, std::uint32_t waiting,
                   findings::Finding& finding);

// "; rank 0 aborted the communicator after 23.100 s", "; ranks 0 and 1 aborted (SIGABRT) after 23.100 s", or
// nothing.
std::string tell_aborts(const CallFacts& facts, const Hang& hang);

}  // namespace ddpscope::detectors
