// What the environment of a process says of its rank.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "collector/model/job.h"
#include "trace/rank_variables.h"

namespace ddpscope::model {

// An integer from the environment of the process; nothing if it is absent or no number.
std::optional<std::int32_t> environment_number(const Process& process, std::string_view name);

}  // namespace ddpscope::model
