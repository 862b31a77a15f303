// mismatched-collective: calls that NCCL pairs, for they have the same place in their communicator's order,
// differ in operation, count, data type, reduction or root.
#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"

namespace ddpscope::detectors {
namespace {

using matching::Collectives;
using matching::Divergence;
using matching::DivergenceKind;
using matching::kNone;
using matching::Signature;

// The fields in which two signatures differ, as a reader would name them.
std::string difference(const Signature& a, const Signature& b) {
  std::string text;
  auto add = [&](bool differs, const char* name) {
    if (differs) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(a.operation != b.operation, "operation");
  add(a.count != b.count, "count");
  add(a.datatype != b.datatype, "data type");
  if (a.operation == b.operation) {
    add(a.reduction != b.reduction, "reduction");
    add(a.root != b.root, "root");
  }
  return text;
}

constexpr std::size_t kFarthest = 4096;  // calls behind the first odd one

struct Pair {
  std::uint32_t odd = kNone, peer = kNone;  // calls
};

// What NCCL pairs differently: the odd rank's call, or the first one behind it that a peer's of the same
// ordinal differs from. (One of two equal calls in a row may be left out.)
Pair first_mismatch(const Collectives& collectives, const Divergence& divergence) {
  const matching::CallForm& odd = collectives.calls.form(divergence.actual);
  const auto& members = collectives.communicators[odd.communicator].members;
  const auto& calls = members[odd.member].calls;
  Pair first;
  std::size_t begin = collectives.ordinal_of(divergence.actual),
              end = std::min(calls.size(), begin + kFarthest);
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    if (divergence.is_odd(m) || divergence.calls[m] == kNone) continue;
    for (std::size_t k = begin; k < std::min(end, members[m].calls.size()); ++k) {
      std::uint32_t peer = members[m].calls[k];
      if (collectives.calls.signature(peer) == collectives.calls.signature(calls[k])) continue;
      first = {calls[k], peer};
      end = k;  // of another member only an earlier one counts
    }
  }
  return first;
}

void tell(const Facts& facts, const Divergence& divergence, std::uint32_t odd_call, std::uint32_t peer_call,
          findings::Outcome& outcome) {
  const matching::CollectiveCall odd = facts.collectives.calls[odd_call];
  const matching::CollectiveCall peer = facts.collectives.calls[peer_call];
  Sides sides = sides_of(facts, divergence);
  findings::Finding finding;
  finding.slug = "mismatched-collective";
  finding.confidence = findings::Confidence::kCertain;
  finding.ranks = sides.odd;
  if (!divergence.decided)
    finding.ranks.insert(finding.ranks.end(), sides.others.begin(), sides.others.end());
  std::sort(finding.ranks.begin(), finding.ranks.end());
  std::string fields = difference(odd.signature, peer.signature);
  finding.title = fmt::format("{} {} {}{}, {} {} in the same place: they differ in {}", list_ranks(sides.odd),
                              verb(sides.odd, "runs", "run"), matching::to_text(odd.signature),
                              at(facts.places.of(odd, peer)), list_ranks(sides.others),
                              matching::to_text(peer.signature), fields);
  finding.advice =
      "Make all ranks of the communicator issue the same calls in the same order, with the same count, type, "
      "reduction and "
      "root: look at what the calls of the ranks named here depend on.";
  finding.evidence = evidence_of(facts, divergence);
  if (odd_call != divergence.actual)
    for (std::uint32_t call : {peer_call, odd_call})
      finding.evidence.push_back(evidence_of(
          facts.job, facts.collectives, facts.collectives.calls[call],
          "the first that differ: " + matching::to_text(facts.collectives.calls.signature(call))));
  for (const auto* call : {&peer, &odd}) add_captured(facts, *call, finding);
  finding.place = place_of(facts, divergence);
  finding.first_ns = std::min(odd.begin_ns, peer.begin_ns);
  finding.last_ns = finding.place.to_ns;
  finding.key =
      fmt::format("{} {} {}", fields, facts.places.whole(odd.called), facts.places.whole(peer.called));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_mismatched_collective(const Facts& facts, findings::Outcome& outcome) {
  for (const Divergence& divergence : facts.divergences.divergences) {
    // A call left out shows in what the odd rank goes on with, a surplus one in itself.
    if (divergence.actual == kNone) continue;
    Pair pair = first_mismatch(facts.collectives, divergence);
    if (pair.odd != kNone) tell(facts, divergence, pair.odd, pair.peer, outcome);
  }
}

}  // namespace ddpscope::detectors
