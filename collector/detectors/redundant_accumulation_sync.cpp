// redundant-accumulation-sync: the same gradients are reduced after every micro-batch of an optimizer step,
// where once, after the last, gives the same result.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collector/detectors/accumulation_cost.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/patterns/repeated_reductions.h"

namespace ddpscope::detectors {
namespace {

using matching::CallForm;
using matching::CollectiveCall;
using patterns::RankSteps;
using patterns::RepeatedSet;
using patterns::Repetition;
using patterns::StepEntry;
using Kind = StepEntry::Kind;
using trace::Operation;

constexpr const char* kSlug = "redundant-accumulation-sync";
constexpr std::size_t kLearning = 2;  // DDP arranges its buckets anew after the first iteration
constexpr std::size_t kLeastSteps = 3;

// What one rank did in all its steps.
struct Habit {
  RankSteps rank;
  std::vector<RepeatedSet> redundant;         // all made the same number of times
  std::map<std::string, std::size_t> doubts;  // steps, by what keeps the trace from telling
  std::size_t judged = 0;

  bool mostly(std::size_t steps) const { return steps > 0 && 2 * steps >= judged; }
  bool persistent() const { return redundant.size() >= kLeastSteps && mostly(redundant.size()); }
  // Nothing is found, and most steps leave open whether there is something.
  const std::string* doubt() const;
};

const std::string* Habit::doubt() const {
  std::size_t all = redundant.size();
  auto worst = doubts.end();
  for (auto each = doubts.begin(); each != doubts.end(); ++each) {
    all += each->second;
    if (worst == doubts.end() || each->second > worst->second) worst = each;
  }
  return persistent() || !mostly(all) || worst == doubts.end() ? nullptr : &worst->first;
}

std::uint32_t number_of(const Habit& habit, std::uint32_t entry) { return habit.rank.entries[entry].call; }

const CallForm& call_of(const Facts& facts, const Habit& habit, std::uint32_t entry) {
  return facts.collectives.calls.form(number_of(habit, entry));
}

// Whether the step makes the first of these reductions, too.
bool reduces_same(const Facts& facts, const Habit& habit, const patterns::Step& step,
                  const RepeatedSet& sets) {
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i)
    if (habit.rank.entries[i].kind == Kind::kReduction &&
        call_of(facts, habit, i).signature == call_of(facts, habit, sets.entries.front()).signature)
      return true;
  return false;
}

// Micro-batches a step are a setting, which the last step of an epoch may fall short of. What comes in
// varying numbers, once among them, is something else: a search, steps skipped.
void keep_most_frequent(const Facts& facts, Habit& habit, const std::vector<const patterns::Step*>& once) {
  std::map<std::size_t, std::vector<RepeatedSet>> by_times;
  std::size_t all = habit.redundant.size();
  for (RepeatedSet& sets : habit.redundant) by_times[sets.times].push_back(std::move(sets));
  habit.redundant.clear();
  for (auto& [times, steps] : by_times)
    if (steps.size() > habit.redundant.size()) habit.redundant = std::move(steps);
  if (all == 0) return;
  auto alike =
      static_cast<std::size_t>(std::count_if(once.begin(), once.end(), [&](const patterns::Step* step) {
        return reduces_same(facts, habit, *step, habit.redundant.front());
      }));
  if (3 * habit.redundant.size() < 2 * (all + alike)) {
    habit.doubts["reductions repeat, but not equally often in each step"] = all;
    habit.redundant.clear();
  } else if (habit.mostly(all) && habit.redundant.size() < kLeastSteps) {
    habit.doubts["reductions repeat, but in too few steps to be a habit"] = all;
  }
}

Habit read_habit(const Facts& facts, RankSteps&& rank) {
  Habit habit{std::move(rank), {}, {}};
  auto steps = patterns::find_repeated_reductions(facts.job, facts.collectives, habit.rank);
  std::vector<const patterns::Step*> once;
  for (std::size_t i = kLearning; i < steps.size(); ++i) {
    ++habit.judged;
    if (steps[i].repetition == Repetition::kRedundant)
      habit.redundant.push_back(std::move(steps[i]));
    else if (steps[i].repetition == Repetition::kNone)
      once.push_back(&habit.rank.steps[i]);
    else
      ++habit.doubts[patterns::reason_of(steps[i].repetition)];
  }
  keep_most_frequent(facts, habit, once);
  return habit;
}

// The first of the sets, with the cost of each call.
ReductionSet pipeline(const Facts& facts, const Habit& habit, const RepeatedSet& repeated,
                      const patterns::LinkCost& link) {
  std::uint32_t first = repeated.step->first_entry;
  // Kernels after the set's last reduction stand before the next entry, an input as a rule.
  std::uint32_t end = repeated.last(0);
  if (end + 1 < repeated.first(1)) ++end;
  auto all = static_cast<double>(std::max<std::uint64_t>(count_launches(habit.rank, first, end), 1));
  ReductionSet set;
  for (std::size_t i = 0; i < repeated.set_size; ++i) {
    const CallForm& reduction = call_of(facts, habit, repeated.entries[i]);
    std::int32_t ranks = facts.collectives.communicators[reduction.communicator].size;
    set.ready.push_back(static_cast<double>(count_launches(habit.rank, first, repeated.entries[i])) / all);
    set.duration_ns.push_back(link.of(reduction.signature, ranks));
  }
  return set;
}

// Median over the redundant steps.
double saved_ms(const Facts& facts, const Habit& habit) {
  auto link = patterns::learn_link_cost(facts.job, facts.collectives, facts.device_order);
  if (!link) return 0;
  std::vector<double> saved;
  for (const RepeatedSet& repeated : habit.redundant) {
    auto step_ns = static_cast<double>(repeated.step->end_ns - repeated.step->begin_ns);
    saved.push_back(
        saved_ns(pipeline(facts, habit, repeated, *link), static_cast<int>(repeated.times), step_ns));
  }
  auto middle = saved.begin() + static_cast<std::ptrdiff_t>(saved.size() / 2);
  std::nth_element(saved.begin(), middle, saved.end());
  return *middle * 1e-6;
}

void add_evidence(const Facts& facts, const Habit& habit, const RepeatedSet& example,
                  findings::Finding& finding) {
  constexpr std::size_t kMostSets = 8;
  for (std::size_t set = 0; set < example.times && set < kMostSets; ++set) {
    CollectiveCall call = facts.collectives.calls[number_of(habit, example.first(set))];
    std::string which = set + 1 == example.times ? "the one that is needed"
                                                 : "redundant: the optimizer does not run before the next";
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    fmt::format("reduction {} of {} in this step, {} calls, the first {}: {}", set + 1,
                                example.times, example.set_size, matching::to_text(call.signature), which)));
  }
}

// Ranks of a communicator that have the habit. Of all but the first no more is kept: it is as long as a
// trace.
struct Sharing {
  Habit first;
  std::vector<std::int32_t> ranks;
  std::uint64_t most_steps = 0;  // redundant ones, of a rank
};

void tell(const Facts& facts, const Sharing& sharing, findings::Outcome& outcome) {
  const Habit& habit = sharing.first;
  const RepeatedSet& example = habit.redundant[habit.redundant.size() / 2];
  CollectiveCall first = facts.collectives.calls[number_of(habit, example.entries.front())];
  bool sharded = first.signature.operation == Operation::kReduceScatter;
  findings::Finding finding;
  finding.slug = kSlug;
  if (!example.inputs) finding.confidence = findings::Confidence::kLikely;
  finding.severity = sharded ? findings::Severity::kInfo : findings::Severity::kWarning;
  finding.ranks = sharing.ranks;
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.title = fmt::format("{} {} all gradients {} times per optimizer step where once is enough{}",
                              list_ranks(finding.ranks), verb(finding.ranks, "reduces", "reduce"),
                              example.times, at(facts.places.of(first.event)));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < example.set_size; ++i)
    bytes += matching::bytes_of(call_of(facts, habit, example.entries[i]).signature);
  finding.cost.bytes_per_step = bytes * (example.times - 1);
  finding.cost.ms_per_step = saved_ms(facts, habit);
  finding.advice = sharded ? "Reducing in every micro-batch keeps only a shard of the gradients in memory, "
                             "which may be what is wanted; if memory "
                             "allows, switch gradient synchronisation off but for the last micro-batch "
                             "(set_requires_gradient_sync)."
                           : "Let gradients add up locally and reduce them with the last micro-batch only: "
                             "wrap forward and backward of the others "
                             "in DistributedDataParallel.no_sync(), or set require_backward_grad_sync.";
  finding.count = std::max(finding.count, sharing.most_steps);
  finding.first_ns = habit.redundant.front().step->begin_ns;
  finding.last_ns = habit.redundant.back().step->end_ns;
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = fmt::format("{} {}", example.set_size, facts.places.whole(first.event));
  add_evidence(facts, habit, example, finding);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_redundant_accumulation_sync(const Facts& facts, findings::Outcome& outcome) {
  std::map<std::uint32_t, Sharing> by_communicator;
  std::map<std::string, std::vector<std::int32_t>> doubts;  // ranks
  bool reduced = false, optimized = false;
  patterns::for_each_rank_steps(facts.job, facts.collectives, [&](RankSteps& rank) {
    optimized = optimized || rank.optimizer_seen;
    reduced = reduced || std::any_of(rank.entries.begin(), rank.entries.end(),
                                     [](const StepEntry& entry) { return entry.kind == Kind::kReduction; });
    std::int32_t number = rank.rank;
    Habit habit = read_habit(facts, std::move(rank));
    if (const std::string* doubt = habit.doubt()) doubts[*doubt].push_back(number);
    if (!habit.persistent()) {
      rank = std::move(habit.rank);
      return;
    }
    std::uint32_t communicator = call_of(facts, habit, habit.redundant.front().entries.front()).communicator;
    std::uint64_t steps = habit.redundant.size();
    Sharing& sharing = by_communicator.try_emplace(communicator, Sharing{std::move(habit), {}}).first->second;
    sharing.ranks.push_back(number);
    sharing.most_steps = std::max(sharing.most_steps, steps);
  });
  for (const auto& [communicator, sharing] : by_communicator) tell(facts, sharing, outcome);
  for (auto& [doubt, ranks] : doubts) {
    std::sort(ranks.begin(), ranks.end());
    outcome.coverage.push_back({"gradient accumulation of " + list_ranks(ranks), doubt, {kSlug}});
  }
  if (reduced && !optimized)
    outcome.coverage.push_back({"optimizer steps",
                                "gradients are reduced, but no kernel has the name of an optimizer's update",
                                {kSlug, "missing-gradient-sync"}});
}

}  // namespace ddpscope::detectors
