// The variables by which launchers number the ranks of a job.
#pragma once

namespace ddpscope::trace {

struct RankVariable {
  const char* name;
  const char* size;  // the variable that says how many there are
};

// In the order in which they are believed. Each names a rank of the job, the last one only among those of its
// host.
constexpr RankVariable kRankVariables[] = {{"RANK", "WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"},
                                           {"LOCAL_RANK", "LOCAL_WORLD_SIZE"}};

}  // namespace ddpscope::trace
