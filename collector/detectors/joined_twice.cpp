// One finding a group.
#include "collector/detectors/joined_twice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "collector/detectors/story.h"
#include "collector/model/process_name.h"
#include "collector/patterns/joined_twice.h"

namespace ddpscope::detectors {
namespace {

using patterns::CrowdedGroup;
using patterns::JoinedAlike;
using patterns::JoinedBy;

constexpr std::size_t kMaxTold = 4;

std::string name_of(const Facts& facts, model::EventRef event) {
  return model::process_name(facts.job, facts.job.processes[event.process]);
}

bool of_agents(const CrowdedGroup& group) { return group.by == JoinedBy::kAgents; }

std::string tell_who(const Facts& facts, const CrowdedGroup& group, const JoinedAlike& alike) {
  std::string number = fmt::format("{}rank {}", of_agents(group) ? "node " : "", alike.rank);
  if (alike.first.process == alike.second.process)
    return fmt::format("{} twice as {}", name_of(facts, alike.first), number);
  return fmt::format("{} and {} as {}", name_of(facts, alike.first), name_of(facts, alike.second), number);
}

std::string title_of(const Facts& facts, const CrowdedGroup& group) {
  std::string title = of_agents(group)
                          ? "agents of torchrun join one rendezvous under one node rank"
                          : fmt::format("processes join one group of {} under one number", group.size);
  title += at(facts.places.of(group.alike.front().second)) + ": ";
  for (std::size_t i = 0; i < std::min(group.alike.size(), kMaxTold); ++i)
    title += (i ? ", " : "") + tell_who(facts, group, group.alike[i]);
  if (group.alike.size() > kMaxTold) title += ", ...";
  if (!group.left_out.empty() && group.left_out.size() <= kMaxTold)
    title +=
        (of_agents(group) ? "; nobody joins as node " : "; nobody joins as ") + list_ranks(group.left_out);
  return title;
}

findings::Evidence tell_joining(const Facts& facts, const CrowdedGroup& group, std::int32_t rank,
                                model::EventRef event) {
  const model::Process& process = facts.job.processes[event.process];
  auto found = process.environment.find("RANK");
  std::string variable =
      found == process.environment.end() ? "" : fmt::format("; its RANK is {}", found->second);
  if (of_agents(group))
    return evidence_of(facts.job, event,
                       fmt::format("tells the other agents its node rank: {}{}", rank, variable));
  findings::Evidence evidence =
      evidence_of(facts.job, event,
                  fmt::format("{} rank {} of {}{}",
                              group.by == JoinedBy::kStore ? "announces itself to the others as" : "joins as",
                              rank, group.size, variable));
  evidence.rank = rank;
  return evidence;
}

void tell(const Facts& facts, const CrowdedGroup& group, findings::Outcome& outcome) {
  findings::Finding finding;
  finding.slug = "rank-mismatch";
  finding.confidence = findings::Confidence::kCertain;
  finding.title = title_of(facts, group);
  finding.first_ns = std::numeric_limits<std::int64_t>::max();
  std::set<std::int32_t> ranks;
  for (const JoinedAlike& alike : group.alike) {
    if (!of_agents(group)) ranks.insert(alike.rank);
    if (!alike.overlap_certain) finding.confidence = findings::Confidence::kLikely;
    for (model::EventRef event : {alike.first, alike.second}) {
      if (of_agents(group)) ranks.insert(facts.job.processes[event.process].rank);
      finding.first_ns = std::min(finding.first_ns, facts.job.begin_ns(event));
      finding.last_ns = std::max(finding.last_ns, facts.job.begin_ns(event));
      if (finding.evidence.size() < 2 * kMaxTold)
        finding.evidence.push_back(tell_joining(facts, group, alike.rank, event));
    }
  }
  ranks.erase(-1);
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.advice =
      "Give each process a number of its own: on each host another --node_rank, where RANK is set by hand "
      "node_rank * processes per host + local rank, and not the local rank alone. Where a process drives "
      "several devices, each of them has one: those of process p begin at p * devices.";
  // The group never comes about as it was meant, for any of its ranks.
  finding.place = {facts.job.ranks(), std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max()};
  finding.key = fmt::format("twice {}", facts.places.whole(group.alike.front().second));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void tell_joined_twice(const Facts& facts, findings::Outcome& outcome) {
  for (const CrowdedGroup& group : patterns::find_crowded_groups(facts.job)) tell(facts, group, outcome);
}

}  // namespace ddpscope::detectors
