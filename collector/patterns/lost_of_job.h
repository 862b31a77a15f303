// What is lost in one communicator, of the whole job.
#pragma once
#include <vector>

#include "collector/patterns/late_ranks.h"

namespace ddpscope::patterns {

// How long the other members of `communicator` wait for those that are in the late ranks' communicator, too,
// in each turn of both; by device times. Nothing if there are no such members or no others, or without times.
struct WaitForMembers {
  std::int64_t from_ns, over_ns;  // of a member in both
  std::size_t member;             // that one, in the late ranks' communicator
  LostTime lost;
};
std::vector<WaitForMembers> find_waits_for_members(const model::Job& job,
                                                   const matching::Collectives& collectives,
                                                   const ordering::DeviceOrder& device_order,
                                                   const CollectiveTimes& times,
                                                   const LazyFrameworkSteps& steps,
                                                   std::uint32_t communicator, const LateRanks& late);

// What the others of a communicator wait for is lost only as far as the job does: those that hold the same
// part of the model elsewhere may be as late, and then wait for no member of it. False: not late any more.
bool bound_by(const std::vector<WaitForMembers>& waits, LateRanks& late);

}  // namespace ddpscope::patterns
