// What `run` changes in the job's environment, and the folder it records into.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/result.h"

namespace ddpscope::commands {

struct RecordingOptions {
  std::filesystem::path folder;  // empty: chosen
  bool stand_ins = false;
  std::string ring;        // size, K, M and G allowed; empty: the injector's default
  std::string gpu_timing;  // empty: the injector's default
};

// ./ddpscope.JOB.START; under a launcher that numbers jobs ./ddpscope.ID.STEP.ATTEMPT, the same for all its
// tasks.
std::filesystem::path default_folder(const std::vector<std::string>& command);

// Makes the folder (0700) if it is missing. What is wrong if it cannot be made or written to.
std::optional<Error> prepare_folder(const std::filesystem::path& folder);

// Error: a library of ours is missing, a size cannot be read.
Result<std::map<std::string, std::string>> job_environment(const RecordingOptions& options,
                                                           const std::filesystem::path& folder);

Result<std::uint64_t> parse_size(const std::string& text);

}  // namespace ddpscope::commands
