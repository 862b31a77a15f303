// The waits of hosts in a hang, and how they were aborted: by a watchdog, as a rule.
#pragma once
#include <string>

#include "collector/detectors/hangs.h"

namespace ddpscope::detectors {

// The wait of a member that waits.
void add_vain_wait(const CallFacts& facts, const Hang& hang, std::uint32_t waiting,
                   findings::Finding& finding);

// Where the first of those that wait aborts, if one does, and how that rank ended.
void add_abort(const CallFacts& facts, const Hang& hang, findings::Finding& finding);

// "; rank 0 aborted the communicator after 23.100 s", "; ranks 0 and 1 aborted (SIGABRT) after 23.100 s", or
// nothing.
std::string tell_aborts(const CallFacts& facts, const Hang& hang);

}  // namespace ddpscope::detectors
