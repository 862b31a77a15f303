// How a rank's time line falls into optimizer steps and micro-batches, and how that is known.
#pragma once
#include <cstddef>
#include <optional>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// From the surest on.
enum class MicroBatchSign : std::uint8_t {
  kInputs,      // each begins with what is copied to the device
  kReductions,  // each ends with the same reductions
  kNone,
};

struct StepSummary {
  std::size_t steps = 0;          // complete ones
  std::optional<Update> example;  // that ends one of them; none: steps are not known
  std::size_t micro_batches = 0;  // in the median step; 0: not known
  MicroBatchSign sign = MicroBatchSign::kNone;
  std::size_t reductions = 0;  // in all
};

StepSummary summarise_steps(const model::Job& job, const matching::Collectives& collectives,
                            std::uint32_t process);

}  // namespace ddpscope::patterns
