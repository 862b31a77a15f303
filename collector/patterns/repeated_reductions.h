// Whether the reductions of a step are one set that is made anew in each micro-batch, while gradients add up.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

enum class Repetition : std::uint8_t {
  kNone,       // no set of gradients is made twice
  kRedundant,  // all but the last are made for nothing
  // A set is made several times, or may be, and this keeps the trace from telling why:
  kFollowed,      // kernels run after a set and before the next input
  kExtraKernels,  // kernels run between two sets that do not run before the first
  kReadBack,      // the host reads back more than a few values between two sets
  kPutAside,      // each set is copied to a place of its own
  kActivations,   // all of one size and summed, or awaited at once
  kOthersBeside,  // others, made fewer times, are too large beside it to be metrics
  kOtherBuffers,  // each set has buffers of its own
  kCaptured,      // graphs are launched: reductions may be in them, or updates of the weights
};
const char* reason_of(Repetition repetition);  // why it can't be told, a sentence for a report's coverage

struct RepeatedSet {
  Repetition repetition = Repetition::kNone;
  const Step* step = nullptr;
  std::vector<std::uint32_t> entries{};  // of all its calls, into RankSteps::entries
  std::size_t set_size = 0;
  std::size_t times = 0;
  bool inputs = false;  // one is copied to the device between any two sets

  std::uint32_t first(std::size_t set) const { return entries[set * set_size]; }
  std::uint32_t last(std::size_t set) const { return entries[(set + 1) * set_size - 1]; }
};

// One for each step of the rank.
std::vector<RepeatedSet> find_repeated_reductions(const model::Job& job,
                                                  const matching::Collectives& collectives,
                                                  const RankSteps& rank);

// Kernels launched before the entries from..to, those before `from` included.
std::uint64_t count_launches(const RankSteps& rank, std::uint32_t from, std::uint32_t to);

}  // namespace ddpscope::patterns
