// Whether a rank reads its samples again in the order in which it read them before.
#pragma once
#include <cstdint>
#include <optional>

#include "collector/patterns/training_reads.h"

namespace ddpscope::patterns {

struct RepeatedOrder {
  std::size_t samples;             // different ones
  std::size_t passes;              // through them, the last perhaps not to its end
  std::int64_t first_ns, last_ns;  // of all reading
  model::EventRef before, again;   // one sample at its place in two passes
  bool shuffled;                   // shuffles.h, loader_batches.h
};

// A sample begins another pass if half as many reads as there are samples were made since it was last read:
// one that comes earlier is read twice in one pass (captions of one picture, two loaders side by side,
// padding). Each process of the rank is taken for itself, those that started first first: workers of the next
// epoch may be new ones. At least half of the samples, and 32, must come again, and 95 % of the readings in
// the order of the readings before. Of batches (loader_batches.h): each as many samples as it holds, and
// three of them at least.
std::optional<RepeatedOrder> find_repeated_order(const model::Job& job, const TrainingReads& reads);

}  // namespace ddpscope::patterns
