// By the members that ran out of calls.
#include "collector/detectors/left_short.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/detectors/member_endings.h"
#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;

// Processes with a wait that never ended.
std::set<std::uint32_t> find_blocked(const CallFacts& facts) {
  std::set<std::uint32_t> blocked;
  for (const ordering::HostWait& wait : facts.device_order.waits)
    if (wait.end_ns == ordering::kNever) blocked.insert(wait.event.process);
  return blocked;
}

// A host waits in vain for a call that those that ended do not make, up to an abort at most.
bool awaits_more(const CallFacts& facts, const LeftShort& left, const Member& member) {
  for (std::size_t k = facts.collectives.ordinal_of(left.call); k < member.calls.size(); ++k)
    if (facts.device_order.completions[member.calls[k]].blocked != matching::kNone) return true;
  return false;
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
  std::map<std::uint32_t, std::uint32_t> first_missed;  // by communicator; a call
  for (const matching::ShortMember& member : facts.divergences.short_members) {
    std::uint32_t& first = first_missed.try_emplace(member.communicator, member.first_missed).first->second;
    if (facts.collectives.ordinal_of(member.first_missed) < facts.collectives.ordinal_of(first))
      first = member.first_missed;
  }
  std::vector<LeftShort> found;
  for (const auto& [index, call] : first_missed) {
    const Communicator& communicator = facts.collectives.communicators[index];
    LeftShort left{index, {}, {}, call, false};
    bool known = !parted.contains(index) && communicator.without_trace() == 0;
    for (std::uint32_t m = 0; m < communicator.members.size() && known; ++m) {
      const Member& member = communicator.members[m];
      bool comes = member.calls.size() > facts.collectives.ordinal_of(call);
      (comes ? left.going_on : left.ended).push_back(m);
      known = !member.incomplete && (comes || left_by_itself(facts, communicator, member));
      left.given_up = left.given_up || disturbed_ns(facts, member) < ordering::kNever;
    }
    if (known && !left.going_on.empty() && !left.ended.empty()) found.push_back(std::move(left));
  }
  if (found.empty()) return found;
  const std::set<std::uint32_t> blocked = find_blocked(facts);
  std::erase_if(found, [&](const LeftShort& left) {
    const auto& members = facts.collectives.communicators[left.communicator].members;
    return std::ranges::any_of(members,
                               [&](const Member& member) { return blocked.contains(member.process); }) ||
           std::ranges::any_of(left.going_on,
                               [&](std::uint32_t m) { return awaits_more(facts, left, members[m]); });
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
  finding.severity = left.given_up ? findings::Severity::kError : findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kLikely;
  std::vector<std::int32_t> all = ended;
  all.insert(all.end(), going_on.begin(), going_on.end());
  std::sort(all.begin(), all.end());
  finding.ranks = ended.size() == going_on.size() ? all : ended.size() < going_on.size() ? ended : going_on;
  finding.title = fmt::format(
      "{} {} without the {} that {} {}{}, and {}", list_ranks(ended), verb(ended, "ends", "end"),
      matching::to_text(call.signature), list_ranks(going_on), verb(going_on, "runs", "run"),
      at(facts.places.of(call)),
      left.given_up ? fmt::format("then {} {} up", list_ranks(going_on), verb(going_on, "gives", "give"))
                    : "nobody waits for it");
  finding.advice =
      left.given_up
          ? "Let every rank of the group run this call, or none. If it belongs to a training step, let all "
            "ranks make the same number of steps."
          : "Let every rank of the group run this call, or none. Here the ranks that ran it did not need the "
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
