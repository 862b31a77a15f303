// Which of the items that a rank and its workers read it trains on.
#pragma once
#include <vector>

#include "collector/files/read_items.h"
#include "collector/patterns/data_parallel_groups.h"

namespace ddpscope::patterns {

// All that is read for a rank, and when the rank took it.
struct RankReads {
  std::int32_t rank;
  std::vector<files::ItemStream> streams;           // in the order in which their processes started
  std::vector<std::vector<std::int64_t>> taken_ns;  // by stream, ascending
  bool of_batches = false;                          // loader_batches.h
};
RankReads find_rank_reads(const model::Job& job, std::int32_t rank);

// Of one rank. Each stream in the order of reading, workers in the order of their start.
struct TrainingReads {
  std::int32_t rank;
  std::vector<files::ItemStream> by_workers;
  files::ItemStream by_itself;
  bool scanned = false;     // something was left out that tells nothing of samples (samples.h)
  bool of_batches = false;  // items are batches (loader_batches.h)

  std::size_t count() const;
  std::vector<const files::ItemStream*> streams() const;  // those that hold something
};

// Training takes its items bit by bit, with gradients in between. A stretch between two reductions in which
// the rank takes several times more than in most is an evaluation, or the filling of a queue; what it takes
// before the first reduction or after the last may be anything (weights, configuration, a final evaluation).
// What a worker has read ahead counts when its rank takes it: a worker feeds the training if half of what is
// taken from it is. Of what is left, samples are what samples.h says; batches all are. Nothing is left of a
// rank that takes something in less than half of the rounds (it trains on other data), or less than an item a
// round (its files hold many samples each, and which of them it uses is not seen).
TrainingReads find_training_reads(RankReads reads, const Reductions& reductions);

}  // namespace ddpscope::patterns
