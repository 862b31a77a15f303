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
  // come in the same order. What one of them reads besides takes nothing away. Indices of `ranks`.
  bool same_order(std::size_t a, std::size_t b) const;

  // Rule D2: every rank goes through at least 90 % of all that any rank ever reads before it begins anew, and
  // then goes on. Parts that are dealt out anew in each epoch add up to that as well, but do not meet: over
  // what would be a rank's part, the ranks must meet half as often as independent orders do at least.
  bool each_reads_all() const;

 private:
  using Numbers = std::vector<std::uint32_t>;  // of items, from 0, the same in all ranks
  struct Rank {
    std::vector<Numbers> by_workers;  // each item once, in the order of the first reading
    Numbers by_itself;
  };
  struct Agreement {
    std::size_t in_order = 0;
    std::size_t compared = 0;  // the shorter of each two
  };

  Numbers numbers_of(const files::ItemStream& stream) const;
  Numbers distinct(const files::ItemStream& stream) const;
  Numbers by_time(const patterns::TrainingReads& reads) const;
  std::size_t count_in_order(const Numbers& a, const Numbers& b) const;
  void compare(const Numbers& a, const Numbers& b, Agreement& agreement) const;

  const std::vector<patterns::TrainingReads>& reads_;
  std::vector<std::uint64_t> keys_;  // of all items, ascending: a key's place is its number
  std::vector<Rank> ranks_;
};

}  // namespace ddpscope::detectors
