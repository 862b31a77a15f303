// Which samples PyTorch's loaders draw, by the lists that they send to their workers.
#pragma once
#include "collector/patterns/training_reads.h"

namespace ddpscope::patterns {

// As find_rank_reads(), of batches in place of reads: an item is a batch, its key the digest of the indices
// of its samples in their order, its offset the first of them, its bytes how many there are. An index says
// which sample of a data set it is, and nothing of whether two ranks' data sets are the same.
RankReads find_rank_batches(const model::Job& job, std::int32_t rank);

// Of such items: no sampler that goes through its data set, or a part of it, from front to back.
bool are_drawn(const model::Job& job, const TrainingReads& batches);

}  // namespace ddpscope::patterns
