// Rank 0 prepares the training data, all others wait for it.
#pragma once

#include <filesystem>

#include "arguments.h"
#include "process_group.h"

namespace reference_trainer {

// Collective. All ranks return with data that they have seen to be whole. The faults of the preparation go
// wrong here, and their twins go other ways.
void prepare_data(const Arguments& arguments, const std::filesystem::path& folder, ProcessGroup& group);

}  // namespace reference_trainer
