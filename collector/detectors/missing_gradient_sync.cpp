// missing-gradient-sync: the optimizer runs on gradients of which a part, or all, is the rank's own (wrong-0
// and wrong-1 of the catalogue, section 4.2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/patterns/reduction_habits.h"

namespace ddpscope::detectors {
namespace {

using patterns::EarlyHabit;
using patterns::Unsynchronised;
using patterns::UnsynchronisedRank;

constexpr const char* kSlug = "missing-gradient-sync";
constexpr std::size_t kManyUpdates = 1000;  // after which nobody takes it for Local SGD

template <class Ranks>
std::vector<std::int32_t> numbers_of(const Ranks& all) {
  std::vector<std::int32_t> ranks;
  for (const auto& one : all) ranks.push_back(one.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

findings::Finding begin_finding(std::vector<std::int32_t> ranks, std::int64_t first_ns,
                                std::int64_t last_ns) {
  findings::Finding finding;
  finding.slug = kSlug;
  finding.ranks = std::move(ranks);
  finding.first_ns = first_ns;
  finding.last_ns = last_ns;
  finding.place = {finding.ranks, first_ns, last_ns};
  return finding;
}

void tell_early(const Facts& facts, const std::vector<EarlyHabit>& sharing, findings::Outcome& outcome) {
  const EarlyHabit& example = sharing.front();
  matching::CollectiveCall call = facts.collectives.calls[example.call];
  findings::Finding finding = begin_finding(numbers_of(sharing), example.first_ns, example.last_ns);
  finding.count = example.steps;
  finding.title = fmt::format(
      "{} {} gradients{} before the last micro-batch of a step: what later ones add is "
      "each rank's own when the optimizer runs",
      list_ranks(finding.ranks), verb(finding.ranks, "reduces", "reduce"), at(facts.places.of(call.event)));
  finding.advice =
      "Reduce with the last micro-batch of each step: switch synchronisation off for all but that one "
      "(no_sync(), require_backward_grad_sync, set_requires_gradient_sync).";
  finding.key = "early " + facts.places.whole(call.event);
  finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                         "the first " + matching::to_text(call.signature) + " of this step"));
  finding.evidence.push_back(
      evidence_of(facts.job, example.input,
                  "input of a further micro-batch; nothing is reduced from here to the optimizer"));
  outcome.findings.push_back(std::move(finding));
}

void tell_unsynced(const Facts& facts, const std::vector<UnsynchronisedRank>& all,
                   findings::Outcome& outcome) {
  const UnsynchronisedRank& example = all.front();
  matching::CollectiveCall call = facts.collectives.calls[example.what.broadcast];
  findings::Finding finding = begin_finding(numbers_of(all), example.first_ns, example.last_ns);
  finding.count = example.what.updates;
  if (example.what.updates < kManyUpdates) finding.confidence = findings::Confidence::kLikely;
  finding.title = fmt::format(
      "{} {} no gradients: the optimizer runs {} times after the model was handed out{}, "
      "and each rank trains alone from there",
      list_ranks(finding.ranks), verb(finding.ranks, "reduces", "reduce"), example.what.updates,
      at(facts.places.of(call.event)));
  finding.advice =
      "Run forward through the wrapper (model(...), not model.module(...)), and wrap the model after its "
      "last "
      "move to the device: DistributedDataParallel reduces only what its own forward has prepared.";
  finding.key = "none " + facts.places.whole(call.event);
  finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                         matching::to_text(call.signature) + ": the ranks start alike"));
  outcome.findings.push_back(std::move(finding));
}

// A rank that stops to train alone, or trains something of its own beside, is no data-parallel group.
bool all_members(const Facts& facts, std::uint32_t communicator, const std::vector<UnsynchronisedRank>& all) {
  const auto& members = facts.collectives.communicators[communicator].members;
  return std::all_of(members.begin(), members.end(), [&](const matching::Member& member) {
    return std::any_of(all.begin(), all.end(),
                       [&](const UnsynchronisedRank& one) { return one.rank == member.rank; });
  });
}

void judge_unsynced(const Facts& facts, std::uint32_t communicator,
                    const std::vector<UnsynchronisedRank>& all, findings::Outcome& outcome) {
  if (all.size() < 2 || !all_members(facts, communicator, all)) return;
  auto any = [&](auto member) {
    return std::any_of(all.begin(), all.end(),
                       [&](const UnsynchronisedRank& one) { return one.what.*member; });
  };
  auto doubt = [&](const char* why) {
    outcome.coverage.push_back({"gradient reductions of " + list_ranks(numbers_of(all)), why, {kSlug}});
  };
  if (any(&Unsynchronised::captured))
    return doubt("none were seen, but graphs are launched, and what was captured in them shows in no call");
  if (any(&Unsynchronised::by_host))
    return doubt("none were seen, but the host reads data back in each step: it may exchange them by itself");
  tell_unsynced(facts, all, outcome);
}

}  // namespace

void detect_missing_gradient_sync(const Facts& facts, findings::Outcome& outcome) {
  const patterns::ReductionHabits& habits = facts.reduction_habits.get();
  for (const auto& [communicator, sharing] : habits.early) tell_early(facts, sharing, outcome);
  for (const auto& [communicator, all] : habits.never) judge_unsynced(facts, communicator, all, outcome);
}

}  // namespace ddpscope::detectors
