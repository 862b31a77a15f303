// Moments at which ranks are known to have met: collectives of all-to-all kinds that every member issued and
// whose end every member's host saw.
#pragma once
#include <vector>

#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::patterns {

struct Round {
  std::uint32_t communicator;
  std::uint32_t ordinal;
  std::int64_t start_ns;  // the last rank came
  std::int64_t end_ns;    // the last rank knew
};

class Rounds {
 public:
  Rounds(const model::Job& job, const matching::Collectives& collectives,
         const ordering::DeviceOrder& device_order);

  // The stretch between the last round of these ranks that had ended at `from_ns` and the first that started
  // after `to_ns`; `to_ns` of kNever means the job's end.
  findings::Place place(const std::vector<std::int32_t>& ranks, std::int64_t from_ns,
                        std::int64_t to_ns) const;

  const std::vector<Round>& all() const { return rounds_; }  // by end

 private:
  bool holds(std::uint32_t communicator, const std::vector<std::int32_t>& ranks) const;

  const model::Job& job_;
  const matching::Collectives& collectives_;
  std::vector<Round> rounds_;
};

}  // namespace ddpscope::patterns
