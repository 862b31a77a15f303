// Which ranks hand data to each other, rank to rank.
#pragma once
#include <cstdint>
#include <map>

#include "collector/matching/collectives.h"

namespace ddpscope::patterns {

// Ranks between which there is a chain of sends and receives work on the same samples on purpose: they are
// the stages of a pipeline, or hold parts of one sequence. Scalars and shapes (up to 8 elements) do not
// count.
class Pipelines {
 public:
  explicit Pipelines(const matching::Collectives& collectives);

  bool joins(std::int32_t a, std::int32_t b) const { return root(a) == root(b); }

 private:
  std::int32_t root(std::int32_t rank) const;

  std::map<std::int32_t, std::int32_t> next_;  // towards the root of each set
};

}  // namespace ddpscope::patterns
