// Divergences and hangs, as each rank's next call.
#include "collector/detectors/partings.h"

#include <algorithm>

#include "collector/detectors/divergence_story.h"
#include "collector/detectors/hangs.h"

namespace ddpscope::detectors {
namespace {

using matching::kNone;

// What nobody waits for, and what NCCL pairs with its like, does no harm.
bool does_harm(const Facts& facts, const matching::Divergence& divergence) {
  auto barrier = [&](std::uint32_t call) { return call != kNone && facts.barriers[call]; };
  std::uint32_t expected = divergence.expected, actual = divergence.actual;
  if (divergence.kind == matching::DivergenceKind::kMissing && barrier(expected)) return true;
  if (divergence.kind == matching::DivergenceKind::kSurplus && barrier(actual)) return true;
  const auto& calls = facts.collectives.calls;
  return expected != kNone && actual != kNone && !(calls[expected].signature == calls[actual].signature);
}

std::optional<NextCall> next_call(const Facts& facts, std::uint32_t number) {
  if (number == kNone) return std::nullopt;
  const matching::CollectiveCall& call = facts.collectives.calls[number];
  std::string kind = to_text(call.signature);
  bool barrier = facts.barriers[number];
  return NextCall{call.event, call.begin_ns, barrier ? "a barrier" : "a " + kind, kind,
                  barrier ? "barrier: " + kind : kind};
}

Parting parting_of(const Facts& facts, const matching::Divergence& divergence) {
  Parting parting{{}, {}, place_of(facts, divergence)};
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  for (std::uint32_t m : divergence.odd) parting.odd.insert(members[m].rank);
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (divergence.calls[m] != kNone || parting.odd.contains(members[m].rank))
      parting.calls[members[m].rank] = next_call(facts, divergence.calls[m]);
  return parting;
}

// Members' calls from one place in the code. 0: they make it from several, or nobody knows.
std::uint32_t site_of(const Facts& facts, const matching::Communicator& communicator,
                      const std::vector<std::uint32_t>& members, std::size_t ordinal) {
  std::set<std::uint32_t> sites;
  for (std::uint32_t m : members) {
    const matching::Member& member = communicator.members[m];
    if (ordinal >= member.calls.size()) return 0;  // it had come no more before
    sites.insert(facts.collectives.call_at(member, ordinal).site);
  }
  return sites.size() == 1 ? *sites.begin() : 0;
}

// Those that came no more may have taken their peers' calls for their own before: NCCL pairs any two
// barriers. The ranks part where they run equal calls from different places in the code.
std::size_t parting_ordinal(const Facts& facts, const Hang& hang) {
  const auto& communicator = facts.collectives.communicators[hang.communicator];
  std::size_t ordinal = hang.ordinal;
  for (std::size_t k = hang.ordinal; k-- > 0; ordinal = k) {
    std::uint32_t here = site_of(facts, communicator, hang.waiting, k);
    std::uint32_t there = site_of(facts, communicator, hang.absent, k);
    if (!here || !there || here == there) break;
  }
  return ordinal;
}

// Ranks that make no more calls while others wait for them.
Parting parting_of(const Facts& facts, const Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  std::size_t ordinal = parting_ordinal(facts, hang);
  Parting parting;
  std::int64_t begin_ns = ordering::kNever;
  auto add = [&](std::uint32_t m) {
    const auto& calls = members[m].calls;
    auto call = next_call(facts, ordinal < calls.size() ? calls[ordinal] : kNone);
    if (call) begin_ns = std::min(begin_ns, call->begin_ns);
    parting.calls[members[m].rank] = std::move(call);
  };
  for (std::uint32_t m : hang.waiting) add(m);
  for (std::uint32_t m : hang.absent) {
    add(m);
    parting.odd.insert(members[m].rank);
  }
  std::vector<std::int32_t> ranks;
  for (const matching::Member& member : members) ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  parting.place = facts.rounds.place(ranks, begin_ns, ordering::kNever);
  return parting;
}

}  // namespace

std::vector<Parting> find_partings(const Facts& facts) {
  std::vector<Parting> partings;
  for (const auto& divergence : facts.divergences.divergences)
    if (does_harm(facts, divergence)) partings.push_back(parting_of(facts, divergence));
  for (const Hang& hang : find_hangs(facts, ordering::StuckWork()))
    if (hang.counts && !hang.absent.empty()) partings.push_back(parting_of(facts, hang));
  auto begin = [&](const Parting& parting) {
    std::int64_t ns = ordering::kNever;
    for (const auto& [rank, call] : parting.calls)
      if (call) ns = std::min(ns, call->begin_ns);
    return ns;
  };
  std::stable_sort(partings.begin(), partings.end(),
                   [&](const Parting& a, const Parting& b) { return begin(a) < begin(b); });
  return partings;
}

}  // namespace ddpscope::detectors
