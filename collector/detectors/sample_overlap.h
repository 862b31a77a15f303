// How far ranks train on the same samples.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/patterns/training_reads.h"

namespace ddpscope::detectors {

constexpr std::size_t kEnoughItems = 32;  // fewer agree by chance, or are configuration

// Of ranks that exchange gradients with each other; `ranks` has to outlive it.
class SampleOverlap {
 public:
  explicit SampleOverlap(const std::vector<patterns::TrainingReads>& ranks);

  // Rule D1: of the different items that two ranks read, worker by worker, at least 90 % are the same and
  // come in the same order. What one of them reads besides takes nothing away. Which of the ranks from
  // `first` on (indices of `ranks`) agree with `rank` in that.
  std::vector<std::size_t> in_order_with(std::size_t rank, std::size_t first) const;

  // Rule D2: every rank goes through at least 90 % of all that any rank ever reads before it begins anew, and
  // then goes on. Parts that are dealt out anew in each epoch add up to that as well, but do not meet: over
  // what would be a rank's part, the ranks must meet half as often as independent orders do at least.
  bool each_reads_all() const;

 private:
  using Numbers = std::vector<std::uint32_t>;  // of items, from 0, the same in all ranks
  struct Stream {
    Numbers all;   // parallel to the items
    Numbers once;  // each item once, in the order of the first reading
  };
  struct Rank {
    std::vector<Stream> by_workers;
    Stream by_itself;

    // What is compared with the same number of another rank: its own order, then its workers'.
    std::size_t orders() const { return 1 + by_workers.size(); }
    const Numbers& order(std::size_t number) const;
  };
  class Places;

  Numbers by_time(std::size_t rank) const;
  bool agrees(const std::vector<Places>& places, const Rank& rank) const;  // places of another rank's orders

  const std::vector<patterns::TrainingReads>& reads_;
  std::size_t items_;  // different ones
  std::vector<Rank> ranks_;
};

}  // namespace ddpscope::detectors
