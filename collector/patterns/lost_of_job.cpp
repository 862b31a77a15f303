// Turn by turn, as both communicators share members and these one time line.
#include "collector/patterns/lost_of_job.h"

#include <algorithm>

#include "collector/model/order_statistics.h"

namespace ddpscope::patterns {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

std::size_t find_member(const matching::Communicator& communicator, const matching::Member& member) {
  for (std::size_t m = 0; m < communicator.members.size(); ++m)
    if (communicator.members[m].rank == member.rank && communicator.members[m].process == member.process)
      return m;
  return kNobody;
}

// The turn of the other communicator in the middle of which this one is; nullptr: that was not timed.
const WaitForMembers* wait_in(const std::vector<WaitForMembers>& waits, const LateTurn& turn) {
  const MemberWindow& window = turn.windows[waits.front().member];
  std::int64_t middle_ns = window.from_ns + (window.over_ns - window.from_ns) / 2;
  auto next = std::upper_bound(waits.begin(), waits.end(), middle_ns,
                               [](std::int64_t ns, const WaitForMembers& wait) { return ns < wait.over_ns; });
  return next != waits.end() && next->from_ns <= middle_ns ? &*next : nullptr;
}

}  // namespace

std::vector<WaitForMembers> find_waits_for_members(const model::Job& job,
                                                   const matching::Collectives& collectives,
                                                   const ordering::DeviceOrder& device_order,
                                                   const CollectiveTimes& times,
                                                   const LazyFrameworkSteps& steps,
                                                   std::uint32_t communicator, const LateRanks& late) {
  std::vector<bool> who;
  std::size_t own = kNobody, in_both = kNobody;
  for (const matching::Member& member : collectives.communicators[communicator].members) {
    std::size_t found = find_member(collectives.communicators[late.communicator], member);
    if (found != kNobody) own = found, in_both = who.size();
    who.push_back(found != kNobody);
  }
  std::vector<WaitForMembers> waits;
  if (own == kNobody || std::count(who.begin(), who.end(), false) == 0) return waits;
  for (const TurnWait& turn :
       find_turn_waits(job, collectives, device_order, times, steps, communicator, who))
    waits.push_back({turn.windows[in_both].from_ns, turn.windows[in_both].over_ns, own, turn.lost});
  return waits;
}

bool bound_by(const std::vector<WaitForMembers>& waits, LateRanks& late) {
  std::vector<std::int64_t> least(late.judged - late.turns.size()), most;
  for (LateTurn& turn : late.turns) {
    if (const WaitForMembers* wait = wait_in(waits, turn))
      turn.lost_ns = std::min(turn.lost_ns, wait->lost.least_ns);
    least.push_back(turn.lost_ns);
  }
  for (const WaitForMembers& wait : waits) most.push_back(wait.lost.most_ns);
  late.most_ns = std::min(late.most_ns, model::median(most));
  late.lost_ns = std::min(late.lost_ns, model::median(least));
  std::erase_if(late.turns, [](const LateTurn& turn) { return turn.lost_ns <= turn.turn_ns / kLeastPart; });
  return is_late_in_most(late.turns.size(), late.judged);
}

}  // namespace ddpscope::patterns
