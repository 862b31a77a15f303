// Communicators as NCCL was asked for them, ranks as Gloo tells the store.
#include "collector/patterns/joined_ranks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "collector/model/rank_variables.h"
#include "collector/reading/announced_rank.h"

namespace ddpscope::patterns {
namespace {

std::optional<RankClaim> claim_of(const model::Process& process, std::int32_t size) {
  for (const trace::RankVariable& variable : trace::kRankVariables) {
    auto rank = model::environment_number(process, variable.name);
    if (&variable == std::end(trace::kRankVariables) - 1) break;  // of the host only
    if (!rank) continue;
    auto own_size = model::environment_number(process, variable.size);
    if (own_size && *own_size != size) return std::nullopt;
    return RankClaim{variable.name, *rank, own_size.has_value()};
  }
  return std::nullopt;
}

// One number in all processes of a host was there before they were told apart: it is that of the pod, of the
// node or of the shell in which wrappers start them. So is one in all children of a parent.
template <class HandOf>
void drop_inherited(std::vector<JoinedRank>& members, HandOf hand_of) {
  std::map<decltype(hand_of(members.front())), std::vector<JoinedRank*>> by_hand;
  for (JoinedRank& member : members)
    if (member.claim) by_hand[hand_of(member)].push_back(&member);
  for (auto& [hand, own] : by_hand) {
    std::int32_t first = own.front()->claim->rank;
    bool same = std::all_of(own.begin(), own.end(),
                            [&](const JoinedRank* member) { return member->claim->rank == first; });
    if (own.size() > 1 && same)
      for (JoinedRank* member : own) member->claim.reset();
  }
}

void add_claims(const model::Job& job, WorldGroup& group) {
  for (JoinedRank& member : group.members) member.claim = claim_of(job.processes[member.process], group.size);
  auto header = [&](const JoinedRank& member) { return job.processes[member.process].header(); };
  drop_inherited(group.members, [&](const JoinedRank& member) {
    trace::FileHeader h = header(member);
    return std::tuple(h.host_id, h.parent_pid, h.parent_start_time);
  });
  drop_inherited(group.members, [&](const JoinedRank& member) { return header(member).host_id; });
}

WorldGroup find_announced(const model::Job& job) {
  WorldGroup group{0, true, {}};
  std::set<std::int32_t> ranks;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    auto announced = reading::find_announced_rank(job.processes[i]);
    if (!announced) continue;
    ranks.insert(announced->rank);
    group.members.push_back({i, announced->rank, {i, announced->place}, std::nullopt});
  }
  group.size = static_cast<std::int32_t>(ranks.size());
  return group;
}

// The largest process group of each process, where that is of one size.
WorldGroup find_joined(const model::Job& job) {
  WorldGroup group{0, false, {}};
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    auto joined = reading::find_joined_group(job.processes[i]);
    if (!joined || joined->size < group.size) continue;
    if (joined->size > group.size) group = {joined->size, false, {}};
    group.members.push_back({i, joined->rank, {i, joined->place}, std::nullopt});
  }
  return group;
}

bool each_once(const matching::Communicator& communicator) {
  std::set<std::uint32_t> processes;
  return std::all_of(communicator.members.begin(), communicator.members.end(),
                     [&](const matching::Member& member) { return processes.insert(member.process).second; });
}

bool is_split_off(const model::Job& job, const matching::Member& member) {
  const auto& memberships = job.processes[member.process].memberships;
  return std::any_of(memberships.begin(), memberships.end(), [&](const model::Membership& own) {
    return own.communicator == member.number && own.parent != 0;
  });
}

}  // namespace

std::vector<WorldGroup> find_world_groups(const model::Job& job, const matching::Collectives& collectives) {
  std::vector<WorldGroup> groups;
  for (const matching::Communicator& communicator : collectives.communicators) {
    bool world = communicator.size == job.world_size && communicator.size > 1;
    if (!world || is_split_off(job, communicator.members.front())) continue;
    WorldGroup group{communicator.size, false, {}};
    for (const matching::Member& member : communicator.members)
      group.members.push_back(
          {member.process, member.rank_in_communicator, {member.process, member.made}, std::nullopt});
    if (each_once(communicator)) add_claims(job, group);
    groups.push_back(std::move(group));
  }
  if (!collectives.communicators.empty()) return groups;
  for (WorldGroup (*find)(const model::Job&) : {find_announced, find_joined}) {
    WorldGroup group = find(job);
    if (group.size < 2) continue;
    add_claims(job, group);
    return {std::move(group)};
  }
  return groups;
}

}  // namespace ddpscope::patterns
