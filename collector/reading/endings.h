// What `ddpscope run` saw of the job from outside: when processes ended that could not write it themselves.
#pragma once
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "collector/model/job.h"

namespace ddpscope::reading {

// Takes the files that `ddpscope run` wrote out of `processes`, and tells every process that left no exit of
// its own when it ended: as it was seen, else when the run that started it did, unless that saw it live on.
// And every process when it was told to end, by the run (which hands on what came for the job) or by another
// process of the job.
//
// What they tell besides is the result: which processes were recorded, as far as they ended before the run.
struct Watched {
  std::set<std::pair<std::uint64_t, std::string>> runs;                        // host, run
  std::set<std::tuple<std::uint64_t, std::int32_t, std::uint64_t>> processes;  // host, pid, start time
};
Watched take_endings(std::vector<model::Process>& processes);

// Why a process has no parent (model/makers.h). Parents have to be linked.
void tell_missing_makers(const Watched& watched, std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
