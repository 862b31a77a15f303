// Opens what TRACE names, a folder or one file, and makes the job of it. What cannot be read is told and left
// out; the rest is analysed.
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include "collector/model/job.h"
#include "collector/reading/progress.h"
#include "trace/result.h"

namespace ddpscope::reading {

struct Reading {
  model::Job job;
  std::vector<Error> errors;    // a file that is not ours, cut off, newer: its rest is in the job
  std::vector<Error> warnings;  // a file that was left out and is not missed
};

// Trace files in the folder, readable or not.
std::size_t count_traces(const std::filesystem::path& folder);

// Whether one of them is of a process that `ddpscope run` started by this command (its DDPSCOPE_COMMAND).
bool holds_command(const std::filesystem::path& folder, std::string_view command);

// Errors: no such path; no trace file in it; none that can be read; two jobs that share nothing; no such
// attempt. `attempt`: which attempt of a restarted job, -1 for the last. `extent`: how much of each file. The
// job's clocks are not set yet: see alignment/.
Result<Reading> read_trace(const std::filesystem::path& trace, Progress& progress, std::int32_t attempt = -1,
                           trace::Extent extent = trace::Extent::kAll);

}  // namespace ddpscope::reading
