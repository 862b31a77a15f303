// redundant-accumulation-sync: the same gradients are reduced after every micro-batch of an optimizer step,
// where once, after the last, gives the same result.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collector/detectors/accumulation_cost.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/framework_syncs.h"
#include "collector/detectors/story.h"
#include "collector/detectors/unseen_steps.h"
#include "collector/patterns/reduction_habits.h"

namespace ddpscope::detectors {
namespace {

using matching::CallForm;
using matching::CollectiveCall;
using patterns::RepeatedHabit;
using patterns::RepeatedSet;
using trace::Operation;

constexpr const char* kSlug = "redundant-accumulation-sync";

std::uint32_t number_of(const RepeatedHabit& habit, std::uint32_t entry) {
  return habit.rank.entries[entry].call;
}

const CallForm& call_of(const Facts& facts, const RepeatedHabit& habit, std::uint32_t entry) {
  return facts.collectives.calls.form(number_of(habit, entry));
}

void add_evidence(const Facts& facts, const RepeatedHabit& habit, const RepeatedSet& example,
                  findings::Finding& finding) {
  constexpr std::size_t kMostSets = 8;
  for (std::size_t set = 0; set < example.times && set < kMostSets; ++set) {
    CollectiveCall call = facts.collectives.calls[number_of(habit, example.first(set))];
    std::string which = set + 1 == example.times ? "the one that is needed"
                                                 : "redundant: the optimizer does not run before the next";
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    fmt::format("reduction {} of {} in this step, {} call{}, the first {}: {}", set + 1,
                                example.times, example.set_size, example.set_size == 1 ? "" : "s",
                                matching::to_text(call.signature), which)));
  }
  finding.evidence.push_back(evidence_of_update(facts.job, habit.rank.process, example.step->optimizer));
}

const RepeatedSet& example_of(const RepeatedHabit& habit) {
  return habit.redundant[habit.redundant.size() / 2];
}

CollectiveCall first_call(const Facts& facts, const RepeatedHabit& habit) {
  return facts.collectives.calls[number_of(habit, example_of(habit).entries.front())];
}

// Data-parallel groups beside each other, each on its communicator, that do the same: one mistake of the
// program.
struct Groups {
  SetsOfRanks ranks;
  const patterns::RepeatingRanks* first = nullptr;
};

std::map<std::string, Groups> groups_of(const Facts& facts, const patterns::ReductionHabits& habits) {
  std::map<std::string, Groups> groups;
  for (const auto& [communicator, sharing] : habits.repeated) {
    // One rank alone sends nothing.
    if (facts.collectives.communicators[communicator].size == 1) continue;
    const RepeatedSet& example = example_of(sharing.first);
    Groups& same = groups[fmt::format("{} {} {}", example.times, example.set_size,
                                      facts.places.whole(first_call(facts, sharing.first).event))];
    if (!same.first) same.first = &sharing;
    same.ranks.insert(sharing.ranks);
  }
  return groups;
}

void tell(const Facts& facts, const Groups& groups, findings::Outcome& outcome) {
  const RepeatedHabit& habit = groups.first->first;
  const RepeatedSet& example = example_of(habit);
  CollectiveCall first = first_call(facts, habit);
  bool sharded = first.signature.operation == Operation::kReduceScatter;
  findings::Finding finding;
  finding.slug = kSlug;
  if (!example.inputs || example.step->optimizer.range) finding.confidence = findings::Confidence::kLikely;
  finding.severity = sharded ? findings::Severity::kInfo : findings::Severity::kWarning;
  finding.ranks = union_of(groups.ranks);
  finding.title = fmt::format("{} {} all gradients {} times per optimizer step where once is enough{}",
                              subject_of(groups.ranks), verb(finding.ranks, "reduces", "reduce"),
                              example.times, at(facts.places.of(first.event)));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < example.set_size; ++i)
    bytes += matching::bytes_of(call_of(facts, habit, example.entries[i]).signature);
  finding.cost.bytes_per_step = bytes * (example.times - 1);
  finding.cost.ms_per_step = 1e-6 * saved_ns_per_step(facts, habit).value_or(0);
  finding.advice = advice_on_repeating(sharded);
  finding.count = std::max(finding.count, groups.first->most_steps);
  finding.first_ns = habit.redundant.front().step->begin_ns;
  finding.last_ns = habit.redundant.back().step->end_ns;
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = fmt::format("{} {}", example.set_size, facts.places.whole(first.event));
  add_evidence(facts, habit, example, finding);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_redundant_accumulation_sync(const Facts& facts, findings::Outcome& outcome) {
  const patterns::ReductionHabits& habits = facts.reduction_habits.get();
  for (const auto& [what, groups] : groups_of(facts, habits)) tell(facts, groups, outcome);
  tell_repeated_passes(facts, kSlug, outcome);
  if (trains_by_framework(facts)) return;
  for (const auto& [doubt, ranks] : habits.doubts)
    outcome.coverage.push_back({"gradient accumulation of " + list_ranks(ranks), doubt, {kSlug}});
  tell_unseen_steps(facts, kSlug, outcome);
}

}  // namespace ddpscope::detectors
