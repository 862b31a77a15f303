// How far ranks train on the same samples.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collector/detectors/sample_orders.h"

namespace ddpscope::detectors {

constexpr std::size_t kEnoughItems = 32;  // fewer agree by chance, or are configuration

// Of ranks that exchange gradients with each other; `ranks` has to outlive it.
class SampleOverlap {
 public:
  explicit SampleOverlap(const std::vector<RankSamples>& ranks) : ranks_(ranks) {}

  // Rule D1: of the different items that two ranks read, worker by worker, at least 90 % are the same and
  // come in the same order. What one of them reads besides takes nothing away. Which of the ranks from
  // `first` on (indices of `ranks`) agree with `rank` in that.
  std::vector<std::size_t> in_order_with(std::size_t rank, std::size_t first) const;

  // Rule D2: every rank goes through at least 90 % of all that any rank ever reads before it begins anew, and
  // then goes on. Parts that are dealt out anew in each epoch add up to that as well, but do not meet: over
  // what would be a rank's part, the ranks must meet half as often as independent orders do at least.
  // `first_reads` reads a rank again (sample_orders.h): asked only where each rank reads enough for it.
  using FirstReads = std::function<std::vector<Sample>(std::size_t rank, std::size_t most)>;
  bool each_reads_all(const FirstReads& first_reads) const;

 private:
  class Places;

  bool agrees(const std::vector<Places>& places, const RankSamples& rank) const;  // places of another rank's
  std::optional<SampleNumbers> all_samples() const;  // none if they are too many for a rank to read all

  const std::vector<RankSamples>& ranks_;
};

}  // namespace ddpscope::detectors
