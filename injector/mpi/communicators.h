// The communicators of this process among its process groups: a name for each that is equal on all its ranks.
//
// A communicator is known by its members, as ranks of MPI_COMM_WORLD, and by how many of the same members
// there were before. All ranks make communicators of the same members in the same order, for to make one is a
// collective.
#pragma once
#include "injector/mpi/library.h"
#include "injector/process_groups/groups.h"

namespace ddpscope::injector::mpi {

// MPI_COMM_WORLD, before MPI itself knows: by the launcher's variables. Rank -1, size 0: there are none.
GroupIdentity world_to_be();

// Between MPI_Init and MPI_Finalize, outside of OwnWork: MPI is asked. nullptr: it is not recorded, as it
// joins two groups, or is that of processes that were started later (counted).
ProcessGroup* group_of(Handle communicator);

}  // namespace ddpscope::injector::mpi
