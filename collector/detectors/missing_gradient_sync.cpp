// missing-gradient-sync: the optimizer runs on gradients of which a part, or all, is the rank's own (wrong-0
// and wrong-1 of the catalogue, section 4.2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/framework_syncs.h"
#include "collector/detectors/story.h"
#include "collector/detectors/unseen_steps.h"
#include "collector/ordering/losses.h"
#include "collector/patterns/reduction_habits.h"

namespace ddpscope::detectors {
namespace {

using patterns::EarlyHabit;
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

// Data-parallel groups beside each other, each on its communicator, that go wrong at one place: one mistake.
template <class Habit>
struct Groups {
  SetsOfRanks ranks;
  const Habit* example = nullptr;

  void add(const std::vector<Habit>& group) {
    if (!example) example = &group.front();
    ranks.insert(numbers_of(group));
  }
};

void tell_early(const Facts& facts, const Groups<EarlyHabit>& groups, findings::Outcome& outcome) {
  const EarlyHabit& example = *groups.example;
  matching::CollectiveCall call = facts.collectives.calls[example.call];
  findings::Finding finding = begin_finding(union_of(groups.ranks), example.first_ns, example.last_ns);
  finding.count = example.steps;
  if (example.optimizer.range) finding.confidence = findings::Confidence::kLikely;
  finding.title = fmt::format(
      "{} {} gradients{} before the last micro-batch of a step: what later ones add is "
      "each rank's own when the optimizer runs",
      subject_of(groups.ranks), verb(finding.ranks, "reduces", "reduce"), at(facts.places.of(call.event)));
  finding.advice =
      "Reduce with the last micro-batch of each step: switch synchronisation off for all but that one "
      "(no_sync(), require_backward_grad_sync, set_requires_gradient_sync).";
  finding.key = "early " + facts.places.whole(call.event);
  finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                         "the first " + matching::to_text(call.signature) + " of this step"));
  finding.evidence.push_back(
      evidence_of(facts.job, example.input,
                  "input of a further micro-batch; nothing is reduced from here to the optimizer"));
  finding.evidence.push_back(evidence_of_update(facts.job, example.process, example.optimizer));
  outcome.findings.push_back(std::move(finding));
}

void tell_unsynced(const Facts& facts, const Groups<UnsynchronisedRank>& groups, findings::Outcome& outcome) {
  const UnsynchronisedRank& example = *groups.example;
  matching::CollectiveCall call = facts.collectives.calls[example.what.broadcast];
  findings::Finding finding = begin_finding(union_of(groups.ranks), example.first_ns, example.last_ns);
  finding.count = example.what.updates;
  if (example.what.updates < kManyUpdates || example.what.exchanged || example.optimizer.range)
    finding.confidence = findings::Confidence::kLikely;
  finding.title = fmt::format(
      "{} {} no gradients: the optimizer runs {} times after one rank broadcast the weights{}, "
      "and each rank trains alone from there",
      subject_of(groups.ranks), verb(finding.ranks, "reduces", "reduce"), example.what.updates,
      at(facts.places.of(call.event)));
  finding.advice =
      "Run forward through the wrapper (model(...), not model.module(...)), and wrap the model after its "
      "last "
      "move to the device: DistributedDataParallel reduces only what its own forward has prepared.";
  finding.key = "none " + facts.places.whole(call.event);
  finding.evidence.push_back(evidence_of(facts.job, facts.collectives, call,
                                         matching::to_text(call.signature) + ": the ranks start alike"));
  finding.evidence.push_back(evidence_of_update(facts.job, example.process, example.optimizer));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_missing_gradient_sync(const Facts& facts, findings::Outcome& outcome) {
  // They may be what reduces; coverage says so.
  if (ordering::has_unhooked_collectives(facts.job)) return;
  const patterns::ReductionHabits& habits = facts.reduction_habits.get();
  auto place = [&](std::uint32_t call) { return facts.places.whole(facts.collectives.calls[call].event); };
  std::map<std::string, Groups<EarlyHabit>> early;
  for (const auto& [communicator, group] : habits.early) {
    // One rank alone shares its gradients with nobody.
    if (facts.collectives.communicators[communicator].size > 1) early[place(group.front().call)].add(group);
  }
  for (const auto& [where, groups] : early) tell_early(facts, groups, outcome);
  tell_early_passes(facts, kSlug, outcome);
  tell_steps_left_out(facts, kSlug, outcome);
  std::map<std::string, Groups<UnsynchronisedRank>> never;
  for (const patterns::UnsynchronisedGroup& group : habits.never) {
    if (const char* why = group.doubt())
      outcome.coverage.push_back(
          {"gradient reductions of " + list_ranks(numbers_of(group.ranks)), why, {kSlug}});
    else
      never[place(group.ranks.front().what.broadcast)].add(group.ranks);
  }
  for (const auto& [where, groups] : never) tell_unsynced(facts, groups, outcome);
  tell_unreduced_passes(facts, kSlug, outcome);
  if (trains_by_framework(facts)) return;
  for (const auto& [doubt, ranks] : habits.doubts_of_missing)
    outcome.coverage.push_back({"gradient reductions of " + list_ranks(ranks), doubt, {kSlug}});
  tell_unseen_steps(facts, kSlug, outcome);
  // Their weights may be another model's on each rank, or the same by the same seed.
  if (habits.alone.size() > 1 && habits.never.empty())
    outcome.leave_unjudged({"whether " + list_ranks(habits.alone) + " train one model",
                            "they update weights without a reduction of gradients, and nobody was seen to "
                            "hand out the weights that they began with",
                            {kSlug},
                            true});
}

}  // namespace ddpscope::detectors
