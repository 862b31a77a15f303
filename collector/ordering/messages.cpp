// Counts sends and receives between each two members.
#include "collector/ordering/messages.h"

#include <algorithm>
#include <map>

namespace ddpscope::ordering {

std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_messages(
    const matching::Collectives& collectives, const matching::Communicator& communicator) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>> sends, receives;
  for (const auto& member : communicator.members)
    for (std::uint32_t number : member.point_to_point) {
      const matching::CallForm& call = collectives.calls.form(number);
      if (call.signature.operation == trace::Operation::kSend)
        sends[{member.rank_in_communicator, call.peer}].push_back(number);
      else
        receives[{call.peer, member.rank_in_communicator}].push_back(number);
    }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [ends, sent] : sends) {
    const std::vector<std::uint32_t>& received = receives[ends];
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
      pairs.emplace_back(sent[i], received[i]);
  }
  return pairs;
}

}  // namespace ddpscope::ordering
