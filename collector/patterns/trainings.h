// Which ranks change a model again and again, as far as a rank's own calls show it, whoever takes part.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

struct Training {
  std::int32_t rank;
  std::int64_t first_ns, last_ns;
  std::size_t rounds;     // updates of the optimizer, or passes through the samples
  bool updates;           // kernels of an optimizer were seen; else only that samples are read again
  model::EventRef first;  // launch of the first update, or reading of the first sample
};

constexpr std::size_t kLeastSamples = 32;  // fewer are configuration, or read again for another reason

// An optimizer is known by its kernels' names (optimizer_kernels.def), and that it trains by three updates
// with other kernels between. Where a rank launches none (it trains on the host, or by captured graphs): it
// or its workers go through the same samples, kLeastSamples, two times or more. Ranks without either are left
// out.
std::vector<Training> find_trainings(const model::Job& job);

}  // namespace ddpscope::patterns
