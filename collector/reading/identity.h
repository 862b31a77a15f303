// Which processes form one job, which attempt of it, and which rank each of them is or works for.
#pragma once
#include "collector/model/job.h"
#include "trace/result.h"

namespace ddpscope::reading {

// What an environment variable of the process says; empty if it is absent.
std::string_view setting(const model::Process& process, std::string_view name);

// Links each process to the one that made it, by host, pid and start time.
void link_parents(std::vector<model::Process>& processes);

// A process that was cut short takes from its parent what its environment lacks: the parent of a forked
// loader worker has the same. Parents have to be linked.
void complete_environments(std::vector<model::Process>& processes);

// Component of each process. Processes belong together that share a TORCHELASTIC_RUN_ID, SLURM_JOB_ID,
// MASTER_ADDR:PORT, a communicator or a parent (recorded or not), and to them what the same `ddpscope run`
// started. The second result are the components that hold a rank or what a `ddpscope run` started: more than
// one means that unrelated jobs lie in one folder.
struct Components {
  std::vector<std::uint32_t> of_process;
  std::vector<bool> named;  // by process: it has one of these names itself
  std::vector<std::uint32_t> jobs;
};
Components find_components(const std::vector<model::Process>& processes);

// Sets attempt, role and rank of every process of the job, and its world size. Rank: from the communicator
// that spans the world, else from the environment, else as Gloo's ranks tell the store, else by order of
// start.
void identify(model::Job& job);

// As communicators and environment say; 0 if nothing does.
std::int32_t find_world_size(const std::vector<model::Process>& processes);

}  // namespace ddpscope::reading
