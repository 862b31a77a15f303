// Hybrid sharding: replicas of the model, each spread over as many shards. Neighbouring ranks hold one
// replica.
#pragma once

#include "faults.h"

namespace reference_trainer {

struct Mesh {
  int replicas, shards;
  int replica, shard;  // of this rank
};

// Two replicas where the ranks divide into two, else one.
Mesh place_in_mesh(int rank, int ranks);

// Replicas of two shards each.
Mesh place_in_pairs(int rank, int ranks);

// Under which number a rank gets its samples and keeps its state.
int data_parallel_rank(const Faults& faults, int rank, int ranks);

// Whether this rank prepares the data, saves, or deletes old checkpoints: rank 0, or the first rank of each
// host.
bool prepares(const Faults& faults, int rank, int local_rank);
bool saves(const Faults& faults, int rank, int local_rank);
bool deletes(const Faults& faults, int rank, int local_rank);

// Throws std::invalid_argument if this run's fault or twin needs another number of ranks.
void require_ranks(const Faults& faults, int ranks);
// Likewise if it goes wrong on several hosts only.
void require_hosts(const Faults& faults, int ranks, int ranks_of_this_host);

}  // namespace reference_trainer
