// mismatched-collective: calls that NCCL pairs, for they have the same place in their communicator's order,
// differ in operation, count, data type, reduction or root.
#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Collectives;
using matching::Divergence;
using matching::DivergenceKind;
using matching::kNone;
using matching::Signature;

// The fields in which any differs from the first, as a reader would name them.
std::string difference(const std::vector<Signature>& signatures) {
  const Signature& first = signatures.front();
  std::string text;
  auto add = [&](const char* name, auto&& differs) {
    if (std::any_of(signatures.begin(), signatures.end(), differs))
      text += (text.empty() ? "" : ", ") + std::string(name);
  };
  auto same_operation = [&](const Signature& other) { return other.operation == first.operation; };
  add("operation", [&](const Signature& other) { return !same_operation(other); });
  add("count", [&](const Signature& other) { return other.count != first.count; });
  add("data type", [&](const Signature& other) { return other.datatype != first.datatype; });
  add("reduction",
      [&](const Signature& other) { return same_operation(other) && other.reduction != first.reduction; });
  add("root", [&](const Signature& other) { return same_operation(other) && other.root != first.root; });
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

// Where odd members call several things: these, and what the others call, with the ranks that do, as they
// come. Else empty.
struct Variants {
  std::vector<Signature> signatures;
  std::vector<std::vector<std::int32_t>> ranks;
};

Variants several_of(const Facts& facts, const Divergence& divergence) {
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  Variants found;
  if (divergence.kind != DivergenceKind::kDifferent) return found;
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    if (divergence.calls[m] == kNone) continue;
    const Signature& signature = facts.collectives.calls.signature(divergence.calls[m]);
    if (!divergence.is_odd(m) && signature != facts.collectives.calls.signature(divergence.expected))
      continue;
    auto known = std::find(found.signatures.begin(), found.signatures.end(), signature);
    auto place = static_cast<std::size_t>(known - found.signatures.begin());
    if (known == found.signatures.end()) {
      found.signatures.push_back(signature);
      found.ranks.emplace_back();
    }
    found.ranks[place].push_back(members[m].rank);
  }
  return found.signatures.size() > 2 ? found : Variants{};
}

// "rank 0 runs all-reduce of 1 float32 (sum), rank 1 all-reduce of 2 float32 (sum), 996 more run others"
std::string list_variants(const Variants& variants) {
  constexpr std::size_t kFew = 4;
  std::string text;
  std::size_t told = std::min(variants.signatures.size(), kFew), more = 0;
  for (std::size_t i = 0; i < told; ++i)
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", list_ranks(variants.ranks[i]),
                        i == 0 ? verb(variants.ranks[i], "runs ", "run ") : "",
                        matching::to_text(variants.signatures[i]));
  for (std::size_t i = told; i < variants.ranks.size(); ++i) more += variants.ranks[i].size();
  return more ? fmt::format("{}, {} more run others", text, more) : text;
}

void tell(const Facts& facts, const Divergence& divergence, std::uint32_t odd_call, std::uint32_t peer_call,
          findings::Outcome& outcome) {
  const CollectiveCall odd = facts.collectives.calls[odd_call];
  const CollectiveCall peer = facts.collectives.calls[peer_call];
  Sides sides = sides_of(facts, divergence);
  findings::Finding finding;
  finding.slug = "mismatched-collective";
  finding.confidence = findings::Confidence::kCertain;
  finding.ranks = sides.odd;
  if (!divergence.decided)
    finding.ranks.insert(finding.ranks.end(), sides.others.begin(), sides.others.end());
  std::sort(finding.ranks.begin(), finding.ranks.end());
  std::string place = at(facts.places.of(odd, peer)), fields;
  if (Variants variants = several_of(facts, divergence); !variants.signatures.empty()) {
    fields = difference(variants.signatures);
    finding.title = fmt::format("{} different calls{} in the same place of the order: {}; they differ in {}",
                                variants.signatures.size(), place, list_variants(variants), fields);
  } else {
    fields = difference({odd.signature, peer.signature});
    finding.title =
        fmt::format("{} {} {}{}, {} {} in the same place: they differ in {}", list_ranks(sides.odd),
                    verb(sides.odd, "runs", "run"), matching::to_text(odd.signature), place,
                    list_ranks(sides.others), matching::to_text(peer.signature), fields);
  }
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
