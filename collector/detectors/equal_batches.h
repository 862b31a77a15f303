// Which data-parallel ranks copy the same batches to their devices (rule D3): the one sign of data that is
// kept in memory or mapped, whose reading no call shows.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/patterns/batch_digests.h"

namespace ddpscope::detectors {

struct GivenBatch {
  std::int32_t rank;
  model::EventRef copy;     // of the first batch that all of the set were given
  std::size_t batches = 0;  // that were compared
};
using EqualBatches = std::vector<GivenBatch>;  // by rank

struct BatchComparison {
  std::vector<EqualBatches> sets;
  bool compared = false;  // batches of two ranks at least
  bool together =
      false;  // ranks of a group were not compared: each two of them may work on one sample together
  bool doubtful = false;  // two ranks were given something again and again that may be no samples
};

// Two ranks are of a set if all that is new on their devices is the same in three steps running, and in most
// of the steps in which both were given something. Of ranks that work on one sample together nothing is said:
// those that hand data to each other, or exchange activations in each step beside the gradients, and those
// that also reduce gradients with ranks that are given other batches.
BatchComparison find_equal_batches(const Facts& facts);

}  // namespace ddpscope::detectors
