// Rank 0 prepares the training data, all others wait for it.
#pragma once

#include <filesystem>

#include "arguments.h"
#include "process_group.h"

namespace reference_trainer {

// Collective. Fault skipped-barrier/preparation goes wrong here, and its twins go other ways.
void prepare_data(const Arguments& arguments, const std::filesystem::path& folder, ProcessGroup& group);

}  // namespace reference_trainer
