// The folder that `run` records into: chosen or named, made, checked.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/result.h"

namespace ddpscope::commands {

struct RecordingFolder {
  std::filesystem::path path;  // absolute, without links
  bool made = false;           // by us, just now
};

// `named`: what -o says; the folder is made (0700) if it is missing. Without it ./ddpscope.JOB.START, a new
// one; under a launcher that numbers jobs ./ddpscope.ID.STEP.ATTEMPT, the same for all its tasks. Error: it
// cannot be made or written to, or has no room for a single trace.
Result<RecordingFolder> open_recording_folder(const std::optional<std::string>& named,
                                              const std::vector<std::string>& command);

// What is wrong if no further process could begin a trace there.
std::optional<Error> check_room(const std::filesystem::path& folder);

}  // namespace ddpscope::commands
