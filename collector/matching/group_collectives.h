// The process groups of torch.distributed on Gloo, and the communicators of MPI, with the collectives that
// each member called: as those of NCCL's communicators, but apart from them, for no device and no stream
// takes part.
#pragma once
#include "collector/matching/collectives.h"

namespace ddpscope::matching {

// What a call on a process group does, as NCCL's operations are named; of all other records theirs. Of MPI's
// scans, which NCCL does not have, kGroupCollective.
trace::Operation group_operation_of(const trace::Record& record);

// Sends and receives are left out. Of an all-to-all, in which each rank may send as much as it likes, no
// count is kept. Groups of one rank are there too.
Collectives find_group_collectives(const model::Job& job);

// What this record makes is a process group of torch.distributed, not a communicator of NCCL or MPI.
inline bool makes_process_group(const trace::Record& record) {
  return record.call == static_cast<std::uint16_t>(trace::Call::c10d_group);
}

// A process of the job has called MPI_Init().
bool uses_mpi(const model::Job& job);

// Whether each rank's calls are known, of all groups that a rank of the job is in: what is not found isn't
// there.
bool knows_all_groups(const model::Job& job, const Collectives& groups);

}  // namespace ddpscope::matching
