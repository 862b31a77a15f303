// mismatched-collective: calls that NCCL pairs, for they have the same place in their communicator's order,
// differ in operation, count, data type, reduction or root.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collector/detectors/call_in_between.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"
#include "collector/detectors/left_short.h"
#include "collector/detectors/mismatched_messages.h"

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

enum class Deviation : std::uint8_t { kMissing, kSurplus, kOtherOrder, kDifferent };

std::uint32_t call_behind(const Collectives& all, std::uint32_t call) {
  const auto& calls = all.member_of(all.calls[call]).calls;
  std::size_t next = all.ordinal_of(call) + 1;
  return next < calls.size() ? calls[next] : kNone;
}

bool are_same(const Collectives& all, std::uint32_t a, std::uint32_t b) {
  if (a == kNone || b == kNone) return false;
  const matching::CallForm &x = all.calls.form(a), &y = all.calls.form(b);
  return x.signature == y.signature && x.site == y.site;
}

// Of one line, in count, type, reduction or root.
bool are_variants(const Collectives& all, std::uint32_t a, std::uint32_t b) {
  const matching::CallForm &x = all.calls.form(a), &y = all.calls.form(b);
  return x.site == y.site && x.signature.operation == y.signature.operation && x.signature != y.signature;
}

// Where ranks part in every step, the cheapest edit depends on how far hosts ran ahead of what hangs. What
// comes right behind does not. `met`: a call of a peer that NCCL pairs with the odd one here, kNone: with a
// later one.
Deviation deviation_of(const Facts& facts, const Divergence& divergence, std::uint32_t met) {
  const Collectives& all = facts.collectives;
  if (divergence.other_order) return Deviation::kOtherOrder;
  std::uint32_t expected = divergence.expected, actual = divergence.actual;
  auto is_barrier = [&](std::uint32_t call) { return call != kNone && facts.barriers[call]; };
  // One line that calls with this count here and that one there: else it would go on as the other side does.
  bool variants = actual != kNone && expected != kNone && are_variants(all, actual, expected);
  if (divergence.kind == DivergenceKind::kMissing) {
    if (variants && !are_same(all, actual, call_behind(all, expected))) return Deviation::kDifferent;
    return is_barrier(expected) && is_made_before_barrier(facts, actual, expected) ? Deviation::kSurplus
                                                                                   : Deviation::kMissing;
  }
  if (divergence.kind == DivergenceKind::kSurplus) {
    if (expected == kNone && met != kNone && are_variants(all, actual, met)) return Deviation::kDifferent;
    if (variants && !are_same(all, call_behind(all, actual), expected)) return Deviation::kDifferent;
    return is_barrier(actual) && expected != kNone && is_made_before_barrier(facts, expected, actual)
               ? Deviation::kMissing
               : Deviation::kSurplus;
  }
  if (variants) return Deviation::kDifferent;
  if (are_same(all, actual, call_behind(all, expected))) return Deviation::kMissing;
  if (are_same(all, call_behind(all, actual), expected)) return Deviation::kSurplus;
  return Deviation::kDifferent;
}

// As many on either side, and their order does not show who is odd: where a rank calls something of its
// own on the way to a barrier, the place of that call does.
bool is_decided(const Divergence& divergence, Deviation deviation) {
  return divergence.decided ||
         (divergence.kind == DivergenceKind::kMissing && deviation == Deviation::kSurplus);
}

// What one side has alone, and what the other goes on with; of another order that which is told of.
struct Alone {
  std::uint32_t call, beside;
};

Alone made_alone(const Divergence& divergence, Deviation deviation) {
  bool of_others = deviation == Deviation::kMissing ||
                   (deviation == Deviation::kOtherOrder && divergence.kind == DivergenceKind::kMissing);
  return of_others ? Alone{divergence.expected, divergence.actual}
                   : Alone{divergence.actual, divergence.expected};
}

// "rank 2 leaves out the all-reduce of 8 float32 (sum) at job.cu:26 reduce, which ranks 0, 1 and 3 run"
std::string tell_deviation(const Facts& facts, const Divergence& divergence, Deviation deviation,
                           const Sides& sides) {
  const CollectiveCall call = facts.collectives.calls[made_alone(divergence, deviation).call];
  std::string odd = list_ranks(sides.odd), others = list_ranks(sides.others),
              what = matching::to_text(call.signature) + at(facts.places.of(call));
  const char *run = verb(sides.odd, "runs", "run"), *others_run = verb(sides.others, "runs", "run");
  if (deviation == Deviation::kOtherOrder)
    return fmt::format("{} {} the {} in another order than {}", odd, run, what, others);
  if (deviation == Deviation::kSurplus)
    return fmt::format("{} {} one {} more than {}", odd, run, what, others);
  std::string or_else = divergence.decided ? "" : fmt::format(", or {} {} one too many", others, others_run);
  return fmt::format("{} {} out the {}, which {} {}{}", odd, verb(sides.odd, "leaves", "leave"), what, others,
                     others_run, or_else);
}

// DistributedDataParallel hands out its buffers in forward: Python's frames are "PATH:LINE FUNCTION".
bool is_of_wrapper(const std::vector<std::string>& stack) {
  return std::any_of(stack.begin(), stack.end(), [](const std::string& frame) {
    return frame.find("nn/parallel/distributed.py:") != std::string::npos;
  });
}

const char* advice_for(Deviation deviation) {
  switch (deviation) {
    case Deviation::kMissing:
      return "Let every rank run this call: take it out of the branch, early return or exception path that "
             "these ranks take, or let rank 0 decide and broadcast the decision.";
    case Deviation::kSurplus:
      return "Run this call as often on every rank: take it out of the code that only these ranks run, or "
             "let "
             "all run it.";
    case Deviation::kOtherOrder:
      return "Let every rank run these calls in one order: see what theirs depends on, the order of a set or "
             "a dictionary, threads, who is done first.";
    case Deviation::kDifferent:
      break;
  }
  return "Make all ranks of the communicator issue the same calls in the same order, with the same count, "
         "type, reduction and root: look at what the calls of the ranks named here depend on.";
}

// Where either side ends with this call, nothing behind it tells whether it is another one in place of the
// peers', or whether that is left out and this one is the next, as it was before.
bool may_be_next(const Facts& facts, const Divergence& divergence) {
  const Collectives& all = facts.collectives;
  if (call_behind(all, divergence.actual) != kNone && call_behind(all, divergence.expected) != kNone)
    return false;
  const auto& calls = all.member_of(all.calls[divergence.actual]).calls;
  for (std::size_t k = all.ordinal_of(divergence.actual); k-- > 1;)
    if (are_same(all, calls[k], divergence.actual) && are_same(all, calls[k - 1], divergence.expected))
      return true;
  return false;
}

constexpr const char* kAdviceOnForward =
    "DistributedDataParallel broadcasts its buffers in forward, so all ranks have to call it: let those that "
    "call it alone, to evaluate or to make an example, call model.module, or let all ranks do so.";

// The count may be that of a run's data.
std::string form_of(const CollectiveCall& call) {
  Signature signature = call.signature;
  signature.count = 0;
  return matching::to_text(signature);
}

std::string key_of(const Facts& facts, const Divergence& divergence, Deviation deviation,
                   const CollectiveCall& odd, const CollectiveCall& peer, const std::string& fields) {
  constexpr const char* kNames[] = {"missing", "surplus", "order", "different"};
  const char* name = kNames[static_cast<std::size_t>(deviation)];
  if (deviation == Deviation::kDifferent)
    return fmt::format("{} {} {} {} {} {}", name, fields, form_of(odd), facts.places.whole(odd.called),
                       form_of(peer), facts.places.whole(peer.called));
  Alone alone = made_alone(divergence, deviation);
  const CollectiveCall call = facts.collectives.calls[alone.call];
  return fmt::format(
      "{} {} {} {}", name, form_of(call), facts.places.whole(call.called),
      alone.beside == kNone ? "" : facts.places.whole(facts.collectives.calls[alone.beside].called));
}

// "ranks 0 and 2 all-reduce of 8 float32 (sum)": of the others those that make the peer's call. Who makes yet
// another one is told of by itself.
std::string tell_others(const Facts& facts, const Divergence& divergence, const Sides& sides,
                        const Signature& signature) {
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  std::vector<std::int32_t> alike;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (!divergence.is_odd(m) && divergence.calls[m] != kNone &&
        facts.collectives.calls.signature(divergence.calls[m]) == signature)
      alike.push_back(members[m].rank);
  if (alike.empty()) alike = sides.others;
  std::string text = list_ranks(alike) + " " + matching::to_text(signature);
  std::size_t more = sides.others.size() - std::min(alike.size(), sides.others.size());
  return more ? fmt::format("{}, {} more yet another", text, more) : text;
}

// Lines of the code, by communicator and odd members, whose calls have been seen to vary.
using VaryingLines = std::set<std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::uint32_t>>;

// Where a line varies on these ranks, one of its calls that equals a peer's later one is by chance the next.
Deviation deviation_of(const Facts& facts, const Divergence& divergence, std::uint32_t met,
                       VaryingLines& varying) {
  Deviation deviation = deviation_of(facts, divergence, met);
  std::uint32_t actual = divergence.actual,
                expected = divergence.expected == kNone ? met : divergence.expected;
  if (expected == kNone || deviation == Deviation::kOtherOrder ||
      !are_variants(facts.collectives, actual, expected))
    return deviation;
  auto line = std::tuple(divergence.communicator, divergence.odd, facts.collectives.calls.form(actual).site);
  if (deviation == Deviation::kDifferent) varying.insert(line);
  return varying.count(line) ? Deviation::kDifferent : deviation;
}

void tell(const Facts& facts, const Divergence& divergence, std::uint32_t odd_call, std::uint32_t peer_call,
          VaryingLines& varying, findings::Outcome& outcome) {
  const CollectiveCall odd = facts.collectives.calls[odd_call];
  const CollectiveCall peer = facts.collectives.calls[peer_call];
  Deviation deviation =
      deviation_of(facts, divergence, odd_call == divergence.actual ? peer_call : kNone, varying);
  Sides sides = sides_of(facts, divergence);
  findings::Finding finding;
  finding.slug = "mismatched-collective";
  finding.confidence = findings::Confidence::kCertain;
  finding.ranks = sides.odd;
  if (!is_decided(divergence, deviation))
    finding.ranks.insert(finding.ranks.end(), sides.others.begin(), sides.others.end());
  std::sort(finding.ranks.begin(), finding.ranks.end());
  std::string place = at(facts.places.of(odd, peer)), fields;
  if (Variants variants = several_of(facts, divergence); !variants.signatures.empty()) {
    fields = difference(variants.signatures);
    finding.title = fmt::format("{} different calls{} in the same place of the order: {}; they differ in {}",
                                variants.signatures.size(), place, list_variants(variants), fields);
  } else if (deviation != Deviation::kDifferent) {
    fields = difference({odd.signature, peer.signature});
    finding.title =
        fmt::format("{}; so {} {} meets {} of the others: they differ in {}",
                    tell_deviation(facts, divergence, deviation, sides), verb(sides.odd, "its", "their"),
                    matching::to_text(odd.signature), matching::to_text(peer.signature), fields);
  } else {
    fields = difference({odd.signature, peer.signature});
    finding.title = fmt::format("{} {} {}{}, {} in the same place: they differ in {}", list_ranks(sides.odd),
                                verb(sides.odd, "runs", "run"), matching::to_text(odd.signature), place,
                                tell_others(facts, divergence, sides, peer.signature), fields);
    if (may_be_next(facts, divergence))
      finding.title += fmt::format(
          "; or {} {} that out, and this is the next, as it was before: neither side shows what follows",
          list_ranks(sides.odd), verb(sides.odd, "leaves", "leave"));
  }
  finding.advice = advice_for(deviation);
  bool surplus = deviation == Deviation::kSurplus;
  if (surplus && odd.signature.operation == trace::Operation::kBroadcast &&
      is_of_wrapper(stack_of(facts.job, odd.called)))
    finding.advice = kAdviceOnForward;
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
  finding.key = key_of(facts, divergence, deviation, odd, peer, fields);
  outcome.findings.push_back(std::move(finding));
}

// One group of NCCL calls that a line of the program issues, as PyTorch does for a gather of several tensors:
// where its first call differs on two ranks, the others are likely to.
using GroupOfCalls = std::tuple<std::uint32_t, std::uint16_t, std::int64_t, std::uint32_t>;

GroupOfCalls group_of(const Facts& facts, std::uint32_t number) {
  const CollectiveCall call = facts.collectives.calls[number];
  return {call.event.process, call.thread, call.enqueue_ns, call.site};
}

}  // namespace

void detect_mismatched_collective(const Facts& facts, findings::Outcome& outcome) {
  VaryingLines varying;
  std::map<std::pair<GroupOfCalls, GroupOfCalls>, std::size_t> known;  // odd and peer; into findings
  for (const Divergence& divergence : facts.divergences.divergences) {
    // A call left out shows in what the odd rank goes on with, a surplus one in itself.
    if (divergence.actual == kNone) continue;
    Pair pair = first_mismatch(facts.collectives, divergence);
    if (pair.odd == kNone) continue;
    auto groups = std::pair(group_of(facts, pair.odd), group_of(facts, pair.peer));
    auto [first, is_new] = known.try_emplace(groups, outcome.findings.size());
    if (is_new)
      tell(facts, divergence, pair.odd, pair.peer, varying, outcome);
    else
      ++outcome.findings[first->second].count;
  }
  for (const LeftShort& left : find_left_short(facts))
    if (!facts.barriers[left.call])
      outcome.findings.push_back(tell_left_short(facts, left, "mismatched-collective"));
  detect_mismatched_messages(facts, outcome);
}

}  // namespace ddpscope::detectors
