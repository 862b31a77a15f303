// Names by who is in it.
#include "collector/matching/communicator_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/matching/group_collectives.h"

namespace ddpscope::matching {
namespace {

constexpr std::size_t kRanksNamed = 6;

bool holds_all(const model::Job& job, const Communicator& communicator) {
  return static_cast<std::size_t>(std::max(communicator.size, 0)) >= job.ranks().size() &&
         communicator.size > 1;
}

bool is_process_group(const model::Job& job, const Communicator& communicator) {
  if (communicator.members.empty()) return false;
  const Member& first = communicator.members.front();
  return makes_process_group(job.record({first.process, first.made}));
}

}  // namespace

std::string name_of(const model::Job& job, const Collectives& collectives, std::uint32_t index) {
  const auto& communicators = collectives.communicators;
  const Communicator& communicator = communicators[index];
  if (holds_all(job, communicator)) {
    auto earlier = std::count_if(communicators.begin(), communicators.begin() + index,
                                 [&](const Communicator& other) { return holds_all(job, other); });
    return earlier == 0 ? "world" : fmt::format("world {}", earlier + 1);
  }
  std::string ranks;
  for (std::size_t i = 0; i < communicator.members.size(); ++i) {
    if (i == kRanksNamed) {
      ranks += fmt::format(" and {} more", communicator.members.size() - i);
      break;
    }
    ranks += fmt::format("{}{}", i ? ", " : "", communicator.members[i].rank);
  }
  return fmt::format("{} {}: rank{} {}",
                     is_process_group(job, communicator) ? "process group" : "communicator", index,
                     communicator.members.size() == 1 ? "" : "s", ranks);
}

}  // namespace ddpscope::matching
