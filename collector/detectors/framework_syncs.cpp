// By the steps of each rank; ranks that go wrong at one place are one finding.
#include "collector/detectors/framework_syncs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collector/detectors/story.h"
#include "collector/ordering/losses.h"
#include "collector/patterns/framework_steps.h"

namespace ddpscope::detectors {
namespace {

using patterns::BackwardPass;
using patterns::FrameworkStep;
using patterns::FrameworkSteps;
using patterns::Reducer;

// As in patterns/reduction_habits: DistributedDataParallel arranges its buckets anew after the first step.
constexpr std::size_t kLearning = 2;
constexpr std::size_t kLeastSteps = 3;

// What a rank does in most of its steps.
struct Habit {
  std::size_t times = 0;  // reductions of a step
  std::vector<const FrameworkStep*> steps;
  std::optional<model::EventRef> discarded = {};  // the end of a wrapper that no pass had used
  // Where other steps are reduced: the last pass of the first of these steps, and of one that is.
  const BackwardPass *left_out = nullptr, *reduced = nullptr;
  std::size_t all = 0;  // steps of both kinds
  bool likely = false;

  const FrameworkStep& example() const { return *steps[steps.size() / 2]; }
};
struct Group {
  std::vector<std::int32_t> ranks;
  std::optional<Habit> first;
  std::size_t most_steps = 0;
};
using Groups = std::map<std::string, Group>;  // by place and number

bool reduces(const BackwardPass& pass) { return !pass.reduced.empty(); }
bool has_reduction(const FrameworkStep& step) { return std::ranges::any_of(step.passes, reduces); }

std::uint32_t stack_of_pass(const model::Job& job, const BackwardPass& pass) {
  return job.record(pass.event).stack;
}

// How often one reducer reduced what passes of one place gave; 0 where it did so once, or places differ:
// losses of several kinds may be meant to be reduced apart.
std::size_t repetitions(const model::Job& job, const FrameworkStep& step) {
  std::map<Reducer, std::vector<const BackwardPass*>> by_reducer;
  for (const BackwardPass& pass : step.passes)
    for (Reducer reducer : pass.reduced) by_reducer[reducer].push_back(&pass);
  std::size_t most = 0;
  for (const auto& [reducer, passes] : by_reducer) {
    std::uint32_t stack = stack_of_pass(job, *passes.front());
    bool alike = stack && std::ranges::all_of(passes, [&](const BackwardPass* pass) {
                   return stack_of_pass(job, *pass) == stack;
                 });
    if (passes.size() > 1 && alike) most = std::max(most, passes.size());
  }
  return most;
}

// Micro-batches a step are a setting; what comes in varying numbers is something else, as for NCCL's
// reductions.
std::optional<Habit> find_repeated(const model::Job& job, const FrameworkSteps& found) {
  std::map<std::size_t, std::vector<const FrameworkStep*>> by_times;
  std::size_t judged = 0, all = 0;
  for (std::size_t i = kLearning; i < found.steps.size(); ++i) {
    if (!has_reduction(found.steps[i])) continue;
    ++judged;
    std::size_t times = repetitions(job, found.steps[i]);
    all += times > 0;
    by_times[times].push_back(&found.steps[i]);
  }
  std::size_t once = by_times[0].size();
  by_times.erase(0);
  auto most = std::ranges::max_element(by_times, {}, [](const auto& of) { return of.second.size(); });
  if (most == by_times.end()) return {};
  std::size_t steps = most->second.size();
  if (steps < kLeastSteps || 2 * steps < judged || 3 * steps < 2 * (all + once)) return {};
  return Habit{most->first, std::move(most->second)};
}

// What this reducer does with the passes of a step: nullptr, as long as it has none of their gradients.
const BackwardPass* last_given(const FrameworkStep& step, Reducer reducer) {
  auto gives = [&](const BackwardPass& pass) { return std::ranges::binary_search(pass.given, reducer); };
  auto last = std::find_if(step.passes.rbegin(), step.passes.rend(), gives);
  return last == step.passes.rend() ? nullptr : &*last;
}
bool is_reduced(const BackwardPass& pass, Reducer reducer) {
  return std::ranges::binary_search(pass.reduced, reducer);
}

bool at_one_place(const model::Job& job, const BackwardPass& a, const BackwardPass& b) {
  std::uint32_t stack = stack_of_pass(job, a);
  return stack && stack_of_pass(job, b) == stack;
}

// The last pass is one of the same loss, or of another that the wrapper's forward has computed, too: what
// comes from the parameters alone (a penalty) is equal on all ranks, and need not be reduced.
bool is_early(const model::Job& job, const FrameworkStep& step, Reducer reducer) {
  const BackwardPass* last = last_given(step, reducer);
  if (!last || is_reduced(*last, reducer)) return false;
  return std::ranges::any_of(step.passes, [&](const BackwardPass& pass) {
    return is_reduced(pass, reducer) &&
           (at_one_place(job, pass, *last) || (pass.through_wrapper && last->through_wrapper));
  });
}

std::optional<Habit> find_early(const model::Job& job, const FrameworkSteps& found) {
  for (Reducer reducer : found.reducers) {
    Habit habit{1, {}};
    std::size_t all = 0;
    for (std::size_t i = kLearning; i < found.steps.size(); ++i) {
      all += last_given(found.steps[i], reducer) != nullptr;
      if (is_early(job, found.steps[i], reducer)) habit.steps.push_back(&found.steps[i]);
    }
    if (habit.steps.size() >= kLeastSteps && 2 * habit.steps.size() >= all) return habit;
  }
  return {};
}

// The last pass that adds to gradients which some reducer reduces in other steps.
const BackwardPass* last_for(const FrameworkSteps& found, const FrameworkStep& step) {
  const BackwardPass* last = nullptr;
  for (Reducer reducer : found.reducers) {
    const BackwardPass* given = reducer == patterns::kSharded ? nullptr : last_given(step, reducer);
    if (given && (!last || given->begin_ns > last->begin_ns)) last = given;
  }
  return last;
}

// Steps of which nothing is reduced, nor exchanged by the program, though others that end with the same
// backward pass are reduced. A pass of another place may look for a direction, or train another model.
struct LeftOut {
  std::vector<const FrameworkStep*> steps;
  const BackwardPass* pass = nullptr;          // the last one of the first of them
  const FrameworkStep* reduced = nullptr;      // the last of the others
  const BackwardPass* reduced_pass = nullptr;  // likewise its last one
  std::size_t all = 0;                         // steps of both kinds
  const char* doubt = nullptr;                 // why these steps may be as they should be
};

const char* doubt_of(const model::Job& job, const FrameworkSteps& found, const LeftOut& left_out) {
  if (ordering::lost_records(job))
    return "some steps seem to reduce none, but records were lost, which may be those of their reductions";
  std::uint64_t bytes = 0;
  for (const BackwardPass& pass : left_out.reduced->passes) bytes += pass.bytes;
  auto may_average = [&](const FrameworkStep& step) {
    return step.begin_ns >= left_out.steps.front()->begin_ns && 2 * step.bytes_behind >= bytes;
  };
  if (std::ranges::any_of(found.steps, may_average))
    return "some steps reduce none, but later the program exchanges as many numbers by itself, which may be "
           "parameters";
  if (!left_out.reduced->is_named || !std::ranges::all_of(left_out.steps, &FrameworkStep::is_named))
    return "some steps reduce none, but nobody names their updates, which may be taken back";
  return nullptr;
}

// By the stack of the last pass.
std::map<std::uint32_t, LeftOut> find_steps_left_out(const model::Job& job, const FrameworkSteps& found) {
  std::map<std::uint32_t, LeftOut> of_passes;
  for (std::size_t i = kLearning; i < found.steps.size(); ++i) {
    const FrameworkStep& step = found.steps[i];
    const BackwardPass* last = last_for(found, step);
    std::uint32_t stack = last ? stack_of_pass(job, *last) : 0;
    if (!stack) continue;
    LeftOut& left_out = of_passes[stack];
    ++left_out.all;
    if (has_reduction(step)) {
      left_out.reduced = &step;
      left_out.reduced_pass = last;
    } else if (!step.exchanged_within) {
      if (left_out.steps.empty()) left_out.pass = last;
      left_out.steps.push_back(&step);
    }
  }
  std::erase_if(of_passes, [](const auto& of) { return !of.second.reduced || of.second.steps.empty(); });
  for (auto& [stack, left_out] : of_passes) left_out.doubt = doubt_of(job, found, left_out);
  return of_passes;
}

// The same call of the optimizer follows the steps that are reduced.
bool at_one_update(const model::Job& job, const LeftOut& left_out) {
  std::uint32_t stack = job.record(left_out.reduced->optimizer).stack;
  return stack && std::ranges::all_of(left_out.steps, [&](const FrameworkStep* step) {
           return job.record(step->optimizer).stack == stack;
         });
}

std::optional<Habit> find_left_out(const model::Job& job, const FrameworkSteps& found) {
  for (auto& [stack, left_out] : find_steps_left_out(job, found)) {
    if (left_out.doubt) continue;
    Habit habit{0, {}};
    habit.left_out = left_out.pass;
    habit.reduced = left_out.reduced_pass;
    habit.all = left_out.all;
    habit.likely = left_out.steps.size() < kLeastSteps || !at_one_update(job, left_out);
    habit.steps = std::move(left_out.steps);
    return habit;
  }
  return {};
}

std::optional<Habit> find_unreduced(const model::Job&, const FrameworkSteps& found) {
  for (auto& unreduced : patterns::find_unreduced_steps(found))
    if (!unreduced.exchanged)
      return Habit{0, std::move(unreduced.steps), unreduced.discarded ? found.discarded : std::nullopt};
  return {};
}

// Not in a group of one rank. NCCL's calls are recorded at NCCL's level.
bool reaches_others(const Facts& facts, std::uint32_t process, const FrameworkStep& step) {
  const matching::Collectives& collectives = facts.collectives;
  auto in_pass = [](const BackwardPass& pass, std::int64_t at_ns) {
    return reduces(pass) && pass.begin_ns <= at_ns && at_ns <= pass.end_ns;
  };
  for (const BackwardPass& pass : step.passes)
    if (reduces(pass) && pass.bytes) return true;
  for (std::uint32_t i = collectives.first_of_process[process]; i < collectives.first_of_process[process + 1];
       ++i) {
    matching::CollectiveCall call = collectives.calls[i];
    if (collectives.communicators[call.communicator].size > 1 &&
        std::ranges::any_of(step.passes,
                            [&](const BackwardPass& pass) { return in_pass(pass, call.begin_ns); }))
      return true;
  }
  return false;
}

// Of a reducer that never reduces its group is not known.
bool concerns_others(const Facts& facts, std::uint32_t process, const Habit& habit) {
  return habit.times ? reaches_others(facts, process, habit.example())
                     : facts.framework_steps.get()[process].has_peers;
}

// Calls visit(rank, process, its steps) for each rank that left a trace.
template <class Visit>
void for_each_rank(const Facts& facts, Visit&& visit) {
  for (std::int32_t rank : facts.job.ranks()) {
    std::int32_t index = facts.job.process_of_rank(rank);
    if (index < 0) continue;
    auto process = static_cast<std::uint32_t>(index);
    visit(rank, process, facts.framework_steps.get()[process]);
  }
}

using Find = std::optional<Habit> (*)(const model::Job&, const FrameworkSteps&);

Groups find_groups(const Facts& facts, std::string_view slug, const findings::Outcome& outcome, Find find) {
  if (facts.job.world_size < 2) return {};
  std::set<std::int32_t> named;
  for (const findings::Finding& finding : outcome.findings)
    if (finding.slug == slug) named.insert(finding.ranks.begin(), finding.ranks.end());
  Groups groups;
  for_each_rank(facts, [&](std::int32_t rank, std::uint32_t process, const FrameworkSteps& found) {
    if (named.contains(rank)) return;
    auto habit = find(facts.job, found);
    if (!habit || !concerns_others(facts, process, *habit)) return;
    std::string place = facts.places.whole(habit->example().passes.front().event);
    Group& group = groups[fmt::format("{} {}", habit->times, place)];
    group.ranks.push_back(rank);
    group.most_steps = std::max(group.most_steps, habit->steps.size());
    if (!group.first) group.first = std::move(habit);
  });
  return groups;
}

findings::Finding begin_finding(std::string_view slug, const Group& group) {
  findings::Finding finding;
  finding.slug = slug;
  finding.ranks = group.ranks;
  finding.count = group.most_steps;
  finding.first_ns = group.first->steps.front()->begin_ns;
  finding.last_ns = group.first->steps.back()->end_ns;
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  return finding;
}

void add_step(const model::Job& job, const FrameworkStep& step, findings::Finding& finding) {
  finding.evidence.push_back(
      evidence_of(job, step.optimizer,
                  step.is_named ? "the optimizer uses what these passes added up"
                                : "here the parameters are found to have changed: they were updated with "
                                  "what these passes added up"));
}

const char* describe_unreduced(const BackwardPass& pass, bool discarded) {
  if (discarded) return "a backward pass that nothing reduces";
  if (pass.used_before)
    return "a backward pass in which the optimizer runs, before DistributedDataParallel reduces anything";
  return pass.through_wrapper
             ? "a backward pass behind a forward of DistributedDataParallel, which does not reduce: no_sync()"
             : "a backward pass through the wrapped model, behind no forward of DistributedDataParallel";
}

}  // namespace

std::string advice_on_repeating(bool sharded) {
  return sharded ? "Reducing in every micro-batch keeps only a shard of the gradients in memory, "
                   "which may be what is wanted; if memory "
                   "allows, switch gradient synchronisation off but for the last micro-batch "
                   "(set_requires_gradient_sync)."
                 : "Let gradients add up locally and reduce them with the last micro-batch only: "
                   "wrap forward and backward of the others "
                   "in DistributedDataParallel.no_sync(), or set require_backward_grad_sync.";
}

void tell_repeated_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome) {
  constexpr std::size_t kMostPasses = 8;
  for (const auto& [key, group] : find_groups(facts, slug, outcome, find_repeated)) {
    const FrameworkStep& step = group.first->example();
    const std::size_t times = group.first->times;
    findings::Finding finding = begin_finding(slug, group);
    auto first = std::ranges::find_if(step.passes, reduces);
    bool sharded = first->reduced.front() == patterns::kSharded;
    finding.severity = sharded ? findings::Severity::kInfo : findings::Severity::kWarning;
    finding.title = fmt::format("{} {} all gradients {} times per optimizer step where once is enough{}",
                                list_ranks(group.ranks), verb(group.ranks, "reduces", "reduce"), times,
                                at(facts.places.of(first->event)));
    finding.key = "passes " + facts.places.whole(first->event);
    finding.advice = advice_on_repeating(sharded);
    std::size_t shown = 0;
    for (const BackwardPass& pass : step.passes) {
      if (!reduces(pass)) continue;
      bool last = ++shown == times;
      if (!last) finding.cost.bytes_per_step += pass.bytes;
      if (shown <= kMostPasses)
        finding.evidence.push_back(
            evidence_of(facts.job, pass.event,
                        fmt::format("backward pass {} of {} that is reduced in this step: {}", shown, times,
                                    last ? "the one that is needed"
                                         : "redundant: the optimizer does not run before the next")));
    }
    add_step(facts.job, step, finding);
    outcome.findings.push_back(std::move(finding));
  }
}

void tell_early_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome) {
  for (const auto& [key, group] : find_groups(facts, slug, outcome, find_early)) {
    const FrameworkStep& step = group.first->example();
    findings::Finding finding = begin_finding(slug, group);
    auto reduced = std::ranges::find_if(step.passes, reduces);
    if (!at_one_place(facts.job, *reduced, step.passes.back()))  // what each adds may be meant to stay apart
      finding.confidence = findings::Confidence::kLikely;
    finding.title = fmt::format(
        "{} {} gradients{} before the last micro-batch of a step: what later ones add is each rank's own "
        "when the optimizer runs",
        list_ranks(group.ranks), verb(group.ranks, "reduces", "reduce"), at(facts.places.of(reduced->event)));
    finding.key = "early passes " + facts.places.whole(reduced->event);
    finding.advice =
        "Reduce with the last micro-batch of each step: leave no_sync() for that one, or set "
        "require_backward_grad_sync before its forward.";
    finding.evidence.push_back(
        evidence_of(facts.job, reduced->event, "the backward pass that is reduced in this step"));
    finding.evidence.push_back(
        evidence_of(facts.job, step.passes.back().event,
                    "the last backward pass of this step: its gradients are not reduced"));
    add_step(facts.job, step, finding);
    outcome.findings.push_back(std::move(finding));
  }
}

void tell_steps_left_out(const Facts& facts, std::string_view slug, findings::Outcome& outcome) {
  std::map<std::string, std::vector<std::int32_t>> doubts;
  for_each_rank(facts, [&](std::int32_t rank, std::uint32_t, const FrameworkSteps& found) {
    for (const auto& [stack, left_out] : find_steps_left_out(facts.job, found))
      if (left_out.doubt) doubts[left_out.doubt].push_back(rank);
  });
  for (const auto& [doubt, ranks] : doubts)
    outcome.coverage.push_back({"gradient reductions of " + list_ranks(ranks), doubt, {std::string(slug)}});
  for (const auto& [key, group] : find_groups(facts, slug, outcome, find_left_out)) {
    const Habit& habit = *group.first;
    const BackwardPass& pass = *habit.left_out;
    findings::Finding finding = begin_finding(slug, group);
    if (habit.likely) finding.confidence = findings::Confidence::kLikely;
    finding.title = fmt::format(
        "{} {} no gradients in {} of {} steps{}: the optimizer then runs on what each rank has computed "
        "alone",
        list_ranks(group.ranks), verb(group.ranks, "reduces", "reduce"), group.most_steps, habit.all,
        at(facts.places.of(pass.event)));
    finding.key = "steps left out " + facts.places.whole(pass.event);
    finding.advice =
        "Reduce with the last micro-batch of every step, also where an epoch ends in fewer of them: leave "
        "no_sync() for each batch behind which the optimizer runs.";
    finding.evidence.push_back(
        evidence_of(facts.job, pass.event, "the last backward pass of a step: no pass of it is reduced"));
    add_step(facts.job, *habit.steps.front(), finding);
    finding.evidence.push_back(evidence_of(facts.job, habit.reduced->event,
                                           "the last backward pass of another step: it is reduced"));
    outcome.findings.push_back(std::move(finding));
  }
}

void tell_unreduced_passes(const Facts& facts, std::string_view slug, findings::Outcome& outcome) {
  for (const auto& [key, group] : find_groups(facts, slug, outcome, find_unreduced)) {
    const FrameworkStep& step = *group.first->steps.front();
    const BackwardPass& pass = step.passes.front();
    findings::Finding finding = begin_finding(slug, group);
    const auto& discarded = group.first->discarded;
    if (discarded) finding.confidence = findings::Confidence::kLikely;  // another model may have been wrapped
    finding.title = fmt::format(
        "{} {} no gradients{}: the model {} wrapped, but the optimizer runs {} times on what each rank has "
        "computed alone",
        list_ranks(group.ranks), verb(group.ranks, "reduces", "reduce"), at(facts.places.of(pass.event)),
        discarded ? "was" : "is", group.most_steps);
    finding.key = "unreduced passes " + facts.places.whole(pass.event);
    finding.advice =
        "Keep the wrapper (ddp = DistributedDataParallel(model)) and run forward through it (ddp(...), not "
        "ddp.module(...)); leave no_sync() for the last micro-batch of each step. DistributedDataParallel "
        "reduces only what its own forward has prepared.";
    if (pass.used_before)
      finding.advice =
          "Run the optimizer behind backward(): a hook on a parameter runs before DistributedDataParallel "
          "reduces "
          "its gradient, which is then each rank's own.";
    if (discarded)
      finding.evidence.push_back(evidence_of(
          facts.job, *discarded, "a DistributedDataParallel is given up here before any pass has used it"));
    finding.evidence.push_back(
        evidence_of(facts.job, pass.event, describe_unreduced(pass, discarded.has_value())));
    add_step(facts.job, step, finding);
    outcome.findings.push_back(std::move(finding));
  }
  std::vector<std::int32_t> exchanging;
  for_each_rank(facts, [&](std::int32_t rank, std::uint32_t, const FrameworkSteps& found) {
    if (std::ranges::any_of(patterns::find_unreduced_steps(found), &patterns::UnreducedSteps::exchanged))
      exchanging.push_back(rank);
  });
  if (exchanging.size() > 1)
    outcome.coverage.push_back({"gradient reductions of " + list_ranks(exchanging),
                                "DistributedDataParallel makes none, but the program exchanges numbers by "
                                "itself, which may be gradients or parameters",
                                {std::string(slug)}});
}

bool trains_by_framework(const Facts& facts) {
  auto is_wrapped = [](const FrameworkStep& step) {
    return std::ranges::any_of(step.passes, [](const BackwardPass& pass) { return !pass.given.empty(); });
  };
  return std::ranges::all_of(facts.job.ranks(), [&](std::int32_t rank) {
    std::int32_t process = facts.job.process_of_rank(rank);
    if (process < 0) return false;
    const FrameworkSteps& found = facts.framework_steps.get()[static_cast<std::size_t>(process)];
    const auto& steps = found.steps;
    if (found.discarded && steps.size() >= kLeastSteps) return true;
    auto wrapped = static_cast<std::size_t>(std::ranges::count_if(steps, is_wrapped));
    return wrapped >= kLearning + kLeastSteps && 2 * wrapped >= steps.size();
  });
}

}  // namespace ddpscope::detectors
