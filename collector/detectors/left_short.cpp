// By the members that ran out of calls.
#include "collector/detectors/left_short.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;

bool ended_by_itself(const model::Job& job, const Member& member) {
  const model::Process& process = job.processes[member.process];
  bool left_communicator = member.aborted_ns != std::numeric_limits<std::int64_t>::max() ||
                           member.error_ns != std::numeric_limits<std::int64_t>::max();
  return process.ended_well() && job.told_ns(member.process) > process.last_ns && !left_communicator;
}

// Processes with a wait that never ended.
std::set<std::uint32_t> find_blocked(const CallFacts& facts) {
  std::set<std::uint32_t> blocked;
  for (const ordering::HostWait& wait : facts.device_order.waits)
    if (wait.end_ns == ordering::kNever) blocked.insert(wait.event.process);
  return blocked;
}

void add_calls(const CallFacts& facts, const LeftShort& left, findings::Finding& finding) {
  constexpr std::size_t kFew = 12;
  const Communicator& communicator = facts.collectives.communicators[left.communicator];
  std::size_t ordinal = facts.collectives.ordinal_of(left.call);
  auto add = [&](std::uint32_t member, std::size_t at, const std::string& detail) {
    if (finding.evidence.size() < kFew)
      finding.evidence.push_back(evidence_of(
          facts.job, facts.collectives, facts.collectives.call_at(communicator.members[member], at), detail));
  };
  for (std::uint32_t member : left.ended)
    if (std::size_t made = communicator.members[member].calls.size())
      add(member, made - 1, "the last that it makes: it ends");
  for (std::uint32_t member : left.going_on)
    if (ordinal < communicator.members[member].calls.size()) add(member, ordinal, "goes on");
  std::stable_sort(finding.evidence.begin(), finding.evidence.end(),
                   [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
}

}  // namespace

std::vector<LeftShort> find_left_short(const CallFacts& facts) {
  if (facts.divergences.short_members.empty()) return {};
  std::set<std::uint32_t> parted;
  for (const matching::Divergence& divergence : facts.divergences.divergences)
    parted.insert(divergence.communicator);
  std::map<std::uint32_t, LeftShort> of_communicator;
  for (const matching::ShortMember& member : facts.divergences.short_members) {
    LeftShort& left =
        of_communicator
            .try_emplace(member.communicator, LeftShort{member.communicator, {}, {}, member.first_missed})
            .first->second;
    left.ended.push_back(member.member);
    if (facts.collectives.calls.begin_ns(member.first_missed) < facts.collectives.calls.begin_ns(left.call))
      left.call = member.first_missed;
  }
  std::vector<LeftShort> found;
  for (auto& [index, left] : of_communicator) {
    const Communicator& communicator = facts.collectives.communicators[index];
    bool well =
        !parted.contains(index) && communicator.without_trace() == 0 &&
        std::all_of(communicator.members.begin(), communicator.members.end(), [&](const Member& member) {
          return ended_by_itself(facts.job, member) && !member.incomplete;
        });
    if (!well) continue;
    std::sort(left.ended.begin(), left.ended.end());
    for (std::uint32_t m = 0; m < communicator.members.size(); ++m)
      if (!std::binary_search(left.ended.begin(), left.ended.end(), m)) left.going_on.push_back(m);
    if (!left.going_on.empty()) found.push_back(std::move(left));
  }
  if (found.empty()) return found;
  const std::set<std::uint32_t> blocked = find_blocked(facts);
  std::erase_if(found, [&](const LeftShort& left) {
    const auto& members = facts.collectives.communicators[left.communicator].members;
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return blocked.contains(member.process); });
  });
  return found;
}

findings::Finding tell_left_short(const CallFacts& facts, const LeftShort& left, std::string_view slug) {
  const Communicator& communicator = facts.collectives.communicators[left.communicator];
  const matching::CollectiveCall call = facts.collectives.calls[left.call];
  const std::vector<std::int32_t> ended = ranks_of(communicator, left.ended);
  const std::vector<std::int32_t> going_on = ranks_of(communicator, left.going_on);
  findings::Finding finding;
  finding.slug = slug;
  finding.severity = findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kLikely;
  std::vector<std::int32_t> all = ended;
  all.insert(all.end(), going_on.begin(), going_on.end());
  std::sort(all.begin(), all.end());
  finding.ranks = ended.size() == going_on.size() ? all : ended.size() < going_on.size() ? ended : going_on;
  finding.title = fmt::format("{} {} without the {} that {} {}{}, and nobody waits for it", list_ranks(ended),
                              verb(ended, "ends", "end"), matching::to_text(call.signature),
                              list_ranks(going_on), verb(going_on, "runs", "run"), at(facts.places.of(call)));
  finding.advice =
      "Let every rank of the group run this call, or none. Here the ranks that ran it did not need the "
      "others, which depends on its size and on the backend: elsewhere they wait without an end.";
  add_calls(facts, left, finding);
  add_captured(facts, call, finding);
  finding.first_ns = call.begin_ns;
  finding.last_ns = facts.job.duration_ns;
  finding.place = facts.rounds.place(all, call.begin_ns, ordering::kNever);
  finding.key = fmt::format("ended short of {}", facts.places.whole(call.called));
  return finding;
}

}  // namespace ddpscope::detectors
