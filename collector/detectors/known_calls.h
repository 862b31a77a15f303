// What detectors need of the collectives of one table, derived at once: on NCCL's communicators or on process
// groups.
#pragma once
#include <utility>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

class KnownCalls {
 public:
  // All but `waits` have to outlive it.
  KnownCalls(const model::Job& job, const matching::Collectives& calls, ordering::DeviceOrder waits,
             const CodePlaces& places)
      : waits_(std::move(waits)),
        divergences_(matching::find_divergences(calls)),
        rounds_(job, calls, waits_),
        facts_{job, calls, divergences_, waits_, rounds_, places} {}
  KnownCalls(const KnownCalls&) = delete;
  KnownCalls& operator=(const KnownCalls&) = delete;

  const CallFacts& facts() const { return facts_; }

 private:
  ordering::DeviceOrder waits_;
  matching::Divergences divergences_;
  patterns::Rounds rounds_;
  CallFacts facts_;
};

}  // namespace ddpscope::detectors
