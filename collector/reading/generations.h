// Runs of one job, one after the other, recorded into one folder: a job that is started anew, with the same
// names (MASTER_ADDR:PORT, SLURM_JOB_ID), by the same command or by the same run, is a further attempt, not
// more processes of the first and not another job.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/model/job.h"
#include "collector/reading/identity.h"

namespace ddpscope::reading {

constexpr std::int32_t kMostAttempts = 1'000'000'000;  // room for more runs than a folder can hold

// The `ddpscope run` that a process was started by; empty if it was preloaded in another way.
std::string_view run_of(const model::Process& process);

// The same of the process of this trace file; empty too if it cannot be read, or does not say so yet.
std::string run_in(const std::filesystem::path& file);

// When a process was there, ns of the wall clock. One whose end nobody saw may have lived on: to_ns is the
// largest then.
struct Lifetime {
  std::int64_t from_ns, to_ns;
  std::int64_t seen_ns;  // its last record, at least
};
Lifetime lifetime_of(const model::Process& process);

// Sorts components.jobs by their start. Without result, they are attempts of one job: each began when all
// processes with a name of the one before were over, and the same run (a loop in it) or command
// (DDPSCOPE_COMMAND) had started both. What nobody saw end, as its run was killed, was over for another run
// when that began after its last record. Otherwise the first two of which this does not hold.
std::optional<std::pair<std::uint32_t, std::uint32_t>> sort_attempts(
    const std::vector<model::Process>& processes, Components& components);

// Counts attempts on over runs: those of a run that claims a rank which an earlier run, over by then, had
// claimed come after that one's. Ranks and the attempts within a run have to be set.
void number_attempts_of_runs(std::vector<model::Process>& processes);

// Counts attempts on within a run: a program may start its ranks several times, one after the other (mp.spawn
// once a trial). A rank that joins a process group of all `world` ranks when all that did so before are over,
// among them one of its number, begins a further attempt. Ranks and the attempts so far have to be set.
void number_attempts_of_worlds(std::vector<model::Process>& processes, std::int32_t world);

}  // namespace ddpscope::reading
