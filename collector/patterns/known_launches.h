// From when on the launches of a process are known: they are bulk records, of which a ring keeps the latest.
#pragma once
#include <cstdint>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// Before the oldest bulk record that is left nothing is known of kernels, copies and steps.
std::int64_t launches_known_from(const model::Job& job, std::uint32_t process);

}  // namespace ddpscope::patterns
