// Which communicators a rank joins.
#pragma once

#include <nccl.h>

#include "faults.h"
#include "store.h"

namespace reference_trainer {

struct Communicators {
  int rank = 0;
  int size = 1;
  // All ranks; null where a process trains alone without any.
  ncclComm_t ranks = nullptr;
  // Unless null, the ranks stand in rows and columns: `ranks` is this rank's row, in it its number is
  // rank mod row size, and this is its column. No communicator holds all of them.
  ncclComm_t column = nullptr;
  int row_size = 1;
};

// On the current device. Collective; throws std::runtime_error when the others don't come in time.
// The faults no-process-group and the twin subgroups-only go other ways here.
Communicators join_communicators(const Place& place, Store& store, const Faults& faults);

}  // namespace reference_trainer
