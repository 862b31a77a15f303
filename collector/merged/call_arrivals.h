// When the hosts' calls on communicators were issued, and when their devices, or their waits, were done.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "collector/merged/collectives.h"
#include "collector/merged/job_tracks.h"

namespace ddpscope::merged {

class CallArrivals {
 public:
  // The tracks are settled. `marks`: of evidence.
  CallArrivals(Making& making, const detectors::Facts& facts, const std::vector<Mark>& marks);

  Arrival of(std::uint32_t call) const;  // all but its signature's number
  // Adds the arrival of a call, with its signature, as the next member's.
  void add(std::uint32_t call, Collective& collective) const;
  // The worst finding whose evidence it is, as in Node.
  std::uint8_t severity_of(const Arrival& arrival) const;

 private:
  void complete(Arrival& arrival, std::uint32_t call) const;

  Making& making_;
  const detectors::Facts& facts_;
  std::map<EventPlace, std::uint8_t> severities_;
};

}  // namespace ddpscope::merged
