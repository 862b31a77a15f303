// What reports and the viewer call a communicator.
#pragma once
#include <cstdint>
#include <string>

#include "collector/matching/collectives.h"

namespace ddpscope::matching {

// "world" for the first communicator that holds all ranks of the job, "world 2" for the second one, else
// "communicator 2: ranks 0, 4". `index`: in collectives.communicators.
std::string name_of(const model::Job& job, const Collectives& collectives, std::uint32_t index);

}  // namespace ddpscope::matching
