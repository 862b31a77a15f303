// Rounds by ordinal, which is how NCCL pairs calls.
#include "collector/patterns/rounds.h"

#include <algorithm>

namespace ddpscope::patterns {
namespace {

using trace::Operation;

bool all_to_all(Operation operation) {
  return operation == Operation::kGroupBarrier || operation == Operation::kAllReduce ||
         operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
         operation == Operation::kAllToAll;
}

}  // namespace

Rounds::Rounds(const model::Job& job, const matching::Collectives& collectives,
               const ordering::DeviceOrder& device_order)
    : job_(job), collectives_(collectives) {
  for (std::uint32_t c = 0; c < collectives.communicators.size(); ++c) {
    const auto& members = collectives.communicators[c].members;
    std::size_t common = members.empty() ? 0 : members[0].calls.size();
    for (const auto& member : members) common = std::min(common, member.calls.size());
    if (members.size() < 2) continue;
    for (std::uint32_t k = 0; k < common; ++k) {
      const matching::Signature& first = collectives.signature_at(members[0], k);
      Round round{c, k, 0, 0};
      bool sound = all_to_all(first.operation);
      for (const auto& member : members) {
        if (!(sound = sound && collectives.signature_at(member, k) == first)) break;
        round.start_ns = std::max(round.start_ns, collectives.begin_ns_at(member, k));
        round.end_ns = std::max(round.end_ns, device_order.complete_ns(member.calls[k]));
      }
      if (sound && round.end_ns != ordering::kNever) rounds_.push_back(round);
    }
  }
  std::stable_sort(rounds_.begin(), rounds_.end(),
                   [](const Round& a, const Round& b) { return a.end_ns < b.end_ns; });
}

bool Rounds::holds(std::uint32_t communicator, const std::vector<std::int32_t>& ranks) const {
  const auto& members = collectives_.communicators[communicator].members;
  return std::all_of(ranks.begin(), ranks.end(), [&](std::int32_t rank) {
    return std::any_of(members.begin(), members.end(),
                       [&](const auto& member) { return member.rank == rank; });
  });
}

findings::Place Rounds::place(const std::vector<std::int32_t>& ranks, std::int64_t from_ns,
                              std::int64_t to_ns) const {
  findings::Place place{ranks, 0, job_.duration_ns};
  for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round) {
    if (round->end_ns > from_ns || !holds(round->communicator, ranks)) continue;
    place.from_ns = round->end_ns;
    break;
  }
  if (to_ns == ordering::kNever) return place;
  for (const Round& round : rounds_) {
    if (round.start_ns < to_ns || !holds(round.communicator, ranks)) continue;
    place.to_ns = round.end_ns;
    break;
  }
  return place;
}

}  // namespace ddpscope::patterns
