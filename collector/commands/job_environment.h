// What `run` changes in the job's environment, but for the folder.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "trace/result.h"

namespace ddpscope::commands {

struct RecordingOptions {
  bool stand_ins = false;
  std::optional<std::string> ring;  // size, K, M and G allowed; none: the injector's default
  std::string gpu_timing = "auto";  // auto, none, events, profiler or cupti
};

// Error: a library of ours is missing or cannot be preloaded from where it lies; a size that makes no sense.
Result<std::map<std::string, std::string>> job_environment(const RecordingOptions& options);

}  // namespace ddpscope::commands
