// Sides, evidence and place of a divergence.
#include "collector/detectors/divergence_story.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/model/device_work.h"
#include "collector/patterns/collective_times.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Divergence;
using matching::kNone;

constexpr std::size_t kMaxEvidence = 12;  // a job of a thousand ranks tells its story with a few of them

// When its process first gave up any communicator, or a member this one, was told that somebody was gone, or
// ended: from then on a device's part of a collective may end without being complete. kNever.
std::int64_t given_up_ns(const Facts& facts, const CollectiveCall& call) {
  std::int64_t ns = ordering::kNever;
  std::uint32_t own = call.event.process;
  for (const matching::Communicator& communicator : facts.collectives.communicators) {
    bool shared = &communicator == &facts.collectives.communicators[call.communicator];
    for (const matching::Member& member : communicator.members) {
      if (!shared && member.process != own) continue;
      std::int64_t at = std::min(member.aborted_ns, member.error_ns);
      if (member.process != own) at = std::min(at, facts.job.processes[member.process].last_ns);
      if (at < ordering::kNever)
        ns = std::min(ns, model::limited(at) - facts.job.clock_error_between(own, member.process));
    }
  }
  return ns;
}

// The host's wait tells, also for a later call of the communicator, whose calls run in their order; or the
// device does, if it was done before an abort can have ended it.
bool is_complete(const Facts& facts, std::uint32_t number) {
  constexpr std::size_t kFarthest = 4096;  // calls behind it
  CollectiveCall call = facts.collectives.calls[number];
  const matching::Numbers& calls = facts.collectives.member_of(call).calls;
  std::size_t begin = facts.collectives.ordinal_of(number);
  for (std::size_t k = begin; k < std::min(calls.size(), begin + kFarthest); ++k)
    if (facts.device_order.completions[calls[k]].wait != kNone) return true;
  const patterns::DeviceTime* time = facts.collective_times.get().of(number);
  return time && time->end_ns + model::device_clock_error_ns(facts.job, call.event.process) <
                     given_up_ns(facts, call);
}

std::string describe(const Facts& facts, std::uint32_t call) {
  CollectiveCall c = facts.collectives.calls[call];
  std::string text = facts.barriers[call] ? "barrier: " : "";
  text += matching::to_text(c.signature);
  if (std::string_view outer = facts.places.made_for(c); !outer.empty())
    text += fmt::format(", for PyTorch's {}", outer);
  if (c.by_graph()) text += ", in the graph launched here";
  std::uint32_t blocked = facts.device_order.completions[call].blocked;
  if (blocked != kNone && !is_complete(facts, call)) {
    std::int64_t since = facts.device_order.waits[blocked].begin_ns;
    text += fmt::format(", not seen to complete: the host waits from {} on", seconds(since));
  }
  return text;
}

}  // namespace

Sides sides_of(const Facts& facts, const Divergence& divergence) {
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  Sides sides;
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    if (divergence.is_odd(m))
      sides.odd.push_back(members[m].rank);
    else if (divergence.calls[m] != kNone)
      sides.others.push_back(members[m].rank);
  }
  std::sort(sides.odd.begin(), sides.odd.end());
  std::sort(sides.others.begin(), sides.others.end());
  return sides;
}

std::vector<findings::Evidence> evidence_of(const Facts& facts, const Divergence& divergence) {
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  std::vector<findings::Evidence> evidence;
  // However many others there are, what the odd ones did is told, of several at least some.
  std::size_t odd = 0, room = kMaxEvidence;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    odd += divergence.is_odd(m) && divergence.calls[m] != kNone;
  auto add = [&](std::uint32_t call, const std::string& detail) {
    if (evidence.size() < room)
      evidence.push_back(evidence_of(facts.job, facts.collectives, facts.collectives.calls[call], detail));
  };
  const auto& first = members[divergence.odd.front()];
  std::uint32_t at = divergence.calls[divergence.odd.front()];
  std::size_t ordinal = at == kNone ? first.calls.size() : facts.collectives.ordinal_of(at);
  if (ordinal > 0)
    add(first.calls[ordinal - 1],
        "the last call in which the ranks agree: " + describe(facts, first.calls[ordinal - 1]));
  for (bool of_odd : {false, true}) {
    room = of_odd ? kMaxEvidence : kMaxEvidence - std::min(odd, kMaxEvidence / 2);
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      std::uint32_t call = divergence.calls[m];
      if (divergence.is_odd(m) == of_odd && call != kNone)
        add(call, (of_odd ? "instead: " : "") + describe(facts, call));
    }
  }
  return evidence;
}

findings::Place place_of(const Facts& facts, const Divergence& divergence) {
  std::vector<std::int32_t> ranks;
  std::int64_t from = ordering::kNever, to = 0;
  for (const auto& member : facts.collectives.communicators[divergence.communicator].members)
    ranks.push_back(member.rank);
  for (std::uint32_t call : divergence.calls) {
    if (call == kNone) continue;
    from = std::min(from, facts.collectives.calls[call].begin_ns);
    to = std::max(to, facts.device_order.complete_ns(call));
  }
  // After a call left out or made once more all that follows is paired with a neighbour.
  if (divergence.kind != matching::DivergenceKind::kDifferent) to = ordering::kNever;
  std::sort(ranks.begin(), ranks.end());
  findings::Place place = facts.rounds.place(ranks, from, to);
  place.communicator = divergence.communicator;
  place.divergence = static_cast<std::size_t>(&divergence - facts.divergences.divergences.data());
  return place;
}

}  // namespace ddpscope::detectors
