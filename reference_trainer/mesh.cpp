// Ranks as rows and columns.
#include "mesh.h"

#include <fmt/core.h>

#include <stdexcept>

namespace reference_trainer {

Mesh place_in_mesh(int rank, int ranks) {
  const int replicas = ranks % 2 == 0 ? 2 : 1;
  const int shards = ranks / replicas;
  return {replicas, shards, rank / shards, rank % shards};
}

Mesh place_in_pairs(int rank, int ranks) { return {ranks / 2, 2, rank / 2, rank % 2}; }

int data_parallel_rank(const Faults& faults, int rank, int ranks) {
  // Without a process group the world is this process, whatever its rank.
  if (rank >= ranks) return rank % ranks;
  const Mesh mesh = place_in_mesh(rank, ranks);
  // The size of the wrong dimension: right only if there are as many replicas as shards.
  if (faults.on(Fault::kRankMismatchArithmetic)) return mesh.replica * mesh.replicas + mesh.shard;
  return mesh.replica * mesh.shards + mesh.shard;
}

bool prepares(const Faults& faults, int rank, int local_rank) {
  const bool once_a_host = faults.on(Fault::kDuplicateLocalRankData) ||
                           faults.on(Fault::kRankMismatchOneWriter) || faults.on(Twin::kOncePerHost);
  return (once_a_host ? local_rank : rank) == 0;
}

bool saves(const Faults& faults, int rank, int local_rank) {
  const bool once_a_host = faults.on(Fault::kDuplicateLocalRank) || faults.on(Twin::kOncePerHost);
  return (once_a_host ? local_rank : rank) == 0;
}

bool deletes(const Faults& faults, int rank, int local_rank) {
  const bool once_a_host = faults.on(Fault::kCheckpointRaceLocalRank);
  return once_a_host ? local_rank == 0 : saves(faults, rank, local_rank);
}

void require_hosts(const Faults& faults, int ranks, int ranks_of_this_host) {
  const bool needs_several =
      faults.on(Fault::kDuplicateLocalRank) || faults.on(Fault::kDuplicateLocalRankData) ||
      faults.on(Fault::kCheckpointRaceLocalRank) || faults.on(Fault::kRankMismatchOneWriter);
  if (!needs_several || ranks_of_this_host < ranks) return;
  throw std::invalid_argument(
      fmt::format("all {} ranks run on this host; this fault needs several hosts, and LOCAL_RANK and "
                  "LOCAL_WORLD_SIZE of a launcher",
                  ranks));
}

void require_ranks(const Faults& faults, int ranks) {
  if (faults.on(Twin::kTensorParallel) && ranks % 2 != 0)
    throw std::invalid_argument(
        fmt::format("{} ranks do not make pairs, as tensor-parallel needs them", ranks));
  if (!faults.on(Fault::kRankMismatchArithmetic)) return;
  const Mesh mesh = place_in_mesh(0, ranks);
  if (mesh.replicas > 1 && mesh.replicas < mesh.shards) return;
  throw std::invalid_argument(
      fmt::format("{} ranks are {} x {} shards, for which the wrong arithmetic makes no two ranks equal; "
                  "rank-mismatch/dp-rank takes 6, 8, 10, ... ranks",
                  ranks, mesh.replicas, mesh.shards));
}

}  // namespace reference_trainer
