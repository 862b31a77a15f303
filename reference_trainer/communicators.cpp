// Which communicators a rank joins: one of all ranks, unless a fault or a twin has it otherwise.
#include "communicators.h"

#include <vector>

#include "check.h"

namespace reference_trainer {
namespace {

ncclComm_t join(const ncclUniqueId& id, int size, int rank) {
  ncclComm_t communicator = nullptr;
  check(ncclCommInitRank(&communicator, size, id, rank));
  return communicator;
}

// Rank 0 makes as many ids as there are communicators and hands all of them out.
std::vector<ncclUniqueId> share_ids(size_t count, const Place& place, Store& store) {
  std::vector<ncclUniqueId> ids(count);
  if (place.rank == 0) {
    for (ncclUniqueId& id : ids) check(ncclGetUniqueId(&id));
  }
  store.share(std::span(ids.data()->internal, count * sizeof(ncclUniqueId)));
  return ids;
}

// Twin subgroups-only: rows of two; together with the columns they connect everybody.
Communicators join_rows_and_columns(const Place& place, Store& store) {
  const int row_size = place.world_size % 2 == 0 ? 2 : 1;
  const int rows = place.world_size / row_size;
  const int row = place.rank / row_size, column = place.rank % row_size;
  const std::vector<ncclUniqueId> ids = share_ids(rows + row_size, place, store);
  Communicators joined{place.rank, place.world_size};
  joined.row_size = row_size;
  joined.ranks = join(ids[row], row_size, column);
  joined.column = join(ids[rows + column], rows, row);
  return joined;
}

}  // namespace

Communicators join_communicators(const Place& place, Store& store, const Faults& faults) {
  // Whoever starts the job set RANK and WORLD_SIZE, but the program never calls the initialisation.
  if (faults.on(Fault::kNoGroupNever) || faults.on(Fault::kNoGroupIdle)) return {.rank = place.rank};
  if (faults.on(Fault::kNoGroupWorldOfOne)) {
    // Counted the devices or tasks that it sees, and saw its own only.
    ncclUniqueId own = {};
    check(ncclGetUniqueId(&own));
    return {.ranks = join(own, 1, 0)};
  }
  if (faults.on(Twin::kSubgroupsOnly)) return join_rows_and_columns(place, store);
  const ncclUniqueId id = share_ids(1, place, store).front();
  return {.rank = place.rank, .size = place.world_size, .ranks = join(id, place.world_size, place.rank)};
}

}  // namespace reference_trainer
