// Joins the two ends of each point-to-point call.
#include "collector/patterns/pipelines.h"

#include <algorithm>

#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

Pipelines::Pipelines(const matching::Collectives& collectives) {
  for (const matching::Communicator& communicator : collectives.communicators)
    for (const matching::Member& member : communicator.members)
      for (std::uint32_t number : member.point_to_point) {
        const matching::CallForm& call = collectives.calls.form(number);
        auto peer = std::find_if(
            communicator.members.begin(), communicator.members.end(),
            [&](const matching::Member& other) { return other.rank_in_communicator == call.peer; });
        if (call.signature.count <= kFewElements || peer == communicator.members.end()) continue;
        std::int32_t a = root(member.rank), b = root(peer->rank);
        if (a != b) next_[std::max(a, b)] = std::min(a, b);
      }
}

std::int32_t Pipelines::root(std::int32_t rank) const {
  for (auto found = next_.find(rank); found != next_.end(); found = next_.find(rank)) rank = found->second;
  return rank;
}

}  // namespace ddpscope::patterns
