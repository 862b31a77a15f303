// Communicator by communicator: what some member lacks is cut off the others.
#include "collector/matching/latest_calls.h"

#include <algorithm>

namespace ddpscope::matching {
namespace {

void begin_at(std::uint32_t first, const std::vector<std::uint32_t>& sequences, Member& member) {
  Numbers kept;
  for (std::size_t k = 0; k < sequences.size(); ++k)
    if (sequences[k] >= first) kept.push_back(member.calls[k]);
  member.calls = std::move(kept);
}

}  // namespace

std::uint32_t first_of_latest(std::vector<std::uint32_t>& sequences) {
  std::sort(sequences.begin(), sequences.end());
  std::size_t at = sequences.size() - 1;
  while (at > 0 && sequences[at] - sequences[at - 1] <= 1) --at;
  return sequences[at];
}

void begin_together(const FirstKnown& first_known, Collectives& collectives,
                    const std::function<bool(const Member&)>& counts_others,
                    const std::function<std::vector<std::uint32_t>(const Member&)>& sequences_of) {
  std::map<std::uint32_t, std::uint32_t> first;  // by communicator
  for (const auto& [place, sequence] : first_known)
    first[place.first] = std::max(first[place.first], sequence);
  for (const auto& [communicator, sequence] : first) {
    auto& members = collectives.communicators[communicator].members;
    bool paired = std::all_of(members.begin(), members.end(), [&](const Member& member) {
      return !member.calls.empty() && !counts_others(member);
    });
    for (Member& member : members) {
      member.incomplete = member.incomplete || !paired;
      if (paired && sequence > 0) begin_at(sequence, sequences_of(member), member);
    }
  }
}

}  // namespace ddpscope::matching
