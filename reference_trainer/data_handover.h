// Healthy ways to hand prepared data over to the other ranks that need no collective.
#pragma once

#include <filesystem>
#include <functional>

#include "arguments.h"
#include "process_group.h"

namespace reference_trainer {

// Runs `write` on one rank; all ranks return when the data is there. False, and nothing done, unless the twin
// poll-marker, rename-published, store-wait or lock-file is on.
bool hand_over_without_collective(const Arguments& arguments, const std::filesystem::path& folder,
                                  const std::function<void()>& write, ProcessGroup& group);

}  // namespace reference_trainer
