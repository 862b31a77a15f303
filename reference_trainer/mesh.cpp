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
