// What collectives and messages took where they ran, by kind, number of ranks and size.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/collective_times.h"

namespace ddpscope::patterns {

// Sizes are classes: from 2^size bytes until twice that, as each rank passes them to NCCL.
struct CollectiveClass {
  trace::Operation operation;  // kSend: messages, from one rank to another
  std::int32_t ranks;
  std::uint32_t size;
  std::size_t count;         // that could be split
  std::int64_t transfer_ns;  // median
  std::int64_t wait_ns;      // median of the longest wait of a member
  double bytes_per_second;   // nccl-tests' bus bandwidth, median
};

// Where every member needs all others lengths tell (CollectiveTimes::split). Of the rest moments have to: the
// transfer lasts from when the last member has come until the last that needs another is done, and a member
// waits for those that it needs. What the clocks of devices and hosts may be off by makes no wait, and has to
// be less than half of the transfer. What shares its time with others of a group is left out.
std::vector<CollectiveClass> summarise_collective_times(const model::Job& job,
                                                        const matching::Collectives& collectives,
                                                        const CollectiveTimes& times);

}  // namespace ddpscope::patterns
