// Processes that could not make their file, by the marks that they left (trace/format.h).
#pragma once
#include <filesystem>
#include <vector>

#include "collector/model/job.h"
#include "collector/model/unrecorded.h"

namespace ddpscope::reading {

// All in the folder, in order; those of earlier jobs, too.
std::vector<model::Unrecorded> find_unrecorded(const std::filesystem::path& folder);

// Those of the runs of these processes: of a host on which nothing was recorded none.
std::vector<model::Unrecorded> find_unrecorded(const std::filesystem::path& folder,
                                               const std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
