// One pass over the steps of each rank.
#include "collector/patterns/reduction_habits.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ddpscope::patterns {
namespace {

using matching::Collectives;
using Kind = StepEntry::Kind;

constexpr std::size_t kLearning = 2;
constexpr std::size_t kLeastSteps = 3;

// What one rank did in all its steps.
struct Habit : RepeatedHabit {
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

// Whether the step makes the first of these reductions, too.
bool reduces_same(const Collectives& collectives, const Habit& habit, const Step& step,
                  const RepeatedSet& sets) {
  auto signature = [&](std::uint32_t entry) -> const matching::Signature& {
    return collectives.calls.signature(habit.rank.entries[entry].call);
  };
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i)
    if (habit.rank.entries[i].kind == Kind::kReduction && signature(i) == signature(sets.entries.front()))
      return true;
  return false;
}

// Micro-batches a step are a setting, which the last step of an epoch may fall short of. What comes in
// varying numbers, once among them, is something else: a search, steps skipped.
void keep_most_frequent(const Collectives& collectives, Habit& habit, const std::vector<const Step*>& once) {
  std::map<std::size_t, std::vector<RepeatedSet>> by_times;
  std::size_t all = habit.redundant.size();
  for (RepeatedSet& sets : habit.redundant) by_times[sets.times].push_back(std::move(sets));
  habit.redundant.clear();
  for (auto& [times, steps] : by_times)
    if (steps.size() > habit.redundant.size()) habit.redundant = std::move(steps);
  if (all == 0) return;
  auto alike = static_cast<std::size_t>(std::count_if(once.begin(), once.end(), [&](const Step* step) {
    return reduces_same(collectives, habit, *step, habit.redundant.front());
  }));
  if (3 * habit.redundant.size() < 2 * (all + alike)) {
    habit.doubts["reductions repeat, but not equally often in each step"] = all;
    habit.redundant.clear();
  } else if (habit.mostly(all) && habit.redundant.size() < kLeastSteps) {
    habit.doubts["reductions repeat, but in too few steps to be a habit"] = all;
  }
}

Habit read_repetitions(const model::Job& job, const Collectives& collectives, RankSteps&& rank) {
  Habit habit{{std::move(rank), {}}, {}};
  auto steps = find_repeated_reductions(job, collectives, habit.rank);
  std::vector<const Step*> once;
  for (std::size_t i = kLearning; i < steps.size(); ++i) {
    ++habit.judged;
    if (steps[i].repetition == Repetition::kRedundant)
      habit.redundant.push_back(std::move(steps[i]));
    else if (steps[i].repetition == Repetition::kNone)
      once.push_back(&habit.rank.steps[i]);
    else if (steps[i].repetition != Repetition::kCaptured)  // told of the rank as a whole
      ++habit.doubts[reason_of(steps[i].repetition)];
  }
  keep_most_frequent(collectives, habit, once);
  return habit;
}

void add_repeated(const Collectives& collectives, Habit&& habit, ReductionHabits& habits) {
  std::uint32_t call = habit.rank.entries[habit.redundant.front().entries.front()].call;
  std::int32_t rank = habit.rank.rank;
  std::uint64_t steps = habit.redundant.size();
  RepeatedHabit& all = habit;
  RepeatingRanks& sharing =
      habits.repeated
          .try_emplace(collectives.calls.form(call).communicator, RepeatingRanks{std::move(all), {}, 0})
          .first->second;
  sharing.ranks.push_back(rank);
  sharing.most_steps = std::max(sharing.most_steps, steps);
}

void add_early(const Collectives& collectives, const RankSteps& rank, ReductionHabits& habits) {
  if (rank.steps.size() <= kLearning) return;
  auto early = find_early_syncs(collectives, rank);
  std::erase_if(early, [&](const EarlySync& sync) { return sync.step < &rank.steps[kLearning]; });
  if (early.size() < kLeastSteps || 2 * early.size() < rank.steps.size() - kLearning) return;
  const EarlySync& example = early[early.size() / 2];
  std::uint32_t call = rank.entries[example.reduction].call;
  habits.early[collectives.calls.form(call).communicator].push_back(
      {rank.rank,
       call,
       {rank.process, rank.entries[example.input].place},
       rank.process,
       example.step->optimizer,
       early.size(),
       early.front().step->begin_ns,
       early.back().step->end_ns});
}

using OfCommunicators = std::map<std::uint32_t, std::vector<UnsynchronisedRank>>;

void add_never(const model::Job& job, const Collectives& collectives, const RankSteps& rank,
               OfCommunicators& never) {
  if (auto what = find_unsynchronised(job, collectives, rank))
    never[what->communicator].push_back({rank.rank, *what, rank.unreduced.front().begin_ns,
                                         rank.unreduced.back().end_ns, rank.process,
                                         rank.unreduced.front().optimizer});
}

void add_doubtful(const Collectives& collectives, const RankSteps& rank, ReductionHabits& habits) {
  DoubtfulSyncs syncs = find_doubtful_syncs(collectives, rank);
  if (syncs.behind_update)
    habits
        .doubts_of_missing
            ["they reduce between an update and the next input: parameters, as it should be, or "
             "gradients that the update has used already"]
        .push_back(rank.rank);
  if (syncs.left_out)
    habits
        .doubts_of_missing
            ["some of their steps reduce nothing: they train another copy of the model, or "
             "their gradients are each rank's own"]
        .push_back(rank.rank);
}

// Whether graphs hold reductions of the rank, or are launched in most of its steps.
bool is_captured(const Collectives& collectives, const RankSteps& rank) {
  std::uint32_t end = collectives.first_of_process[rank.process + 1];
  for (std::uint32_t call = collectives.first_of_process[rank.process]; call < end; ++call)
    if (collectives.calls.form(call).by_graph() && is_reduction(collectives.calls.signature(call)))
      return true;
  auto captured = std::count_if(rank.steps.begin(), rank.steps.end(), std::mem_fn(&Step::captured));
  return captured > 0 && 2 * static_cast<std::size_t>(captured) >= rank.steps.size();
}

// A rank that stops to train alone, or trains something of its own beside, is no data-parallel group.
std::vector<UnsynchronisedGroup> whole_groups(const Collectives& collectives, OfCommunicators never) {
  std::vector<UnsynchronisedGroup> groups;
  for (auto& entry : never) {
    std::vector<UnsynchronisedRank>& ranks = entry.second;
    const auto& members = collectives.communicators[entry.first].members;
    bool all = std::all_of(members.begin(), members.end(), [&](const matching::Member& member) {
      return std::any_of(ranks.begin(), ranks.end(),
                         [&](const UnsynchronisedRank& one) { return one.rank == member.rank; });
    });
    if (ranks.size() < 2 || !all) continue;
    std::sort(ranks.begin(), ranks.end(),
              [](const UnsynchronisedRank& a, const UnsynchronisedRank& b) { return a.rank < b.rank; });
    groups.push_back({std::move(ranks)});
  }
  return groups;
}

}  // namespace

const char* UnsynchronisedGroup::doubt() const {
  auto any = [&](bool Unsynchronised::*what) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const UnsynchronisedRank& one) { return one.what.*what; });
  };
  if (any(&Unsynchronised::captured))
    return "none were seen, but graphs are launched, and what was captured in them shows in no call";
  if (any(&Unsynchronised::by_host))
    return "none were seen, but the host reads back what they may be: it may exchange them by itself";
  return nullptr;
}

ReductionHabits find_reduction_habits(const model::Job& job, const Collectives& collectives) {
  ReductionHabits habits;
  OfCommunicators never;
  for_each_rank_steps(job, collectives, [&](RankSteps& rank) {
    habits.optimized = habits.optimized || rank.optimizer_seen;
    habits.reduced =
        habits.reduced || std::any_of(rank.entries.begin(), rank.entries.end(),
                                      [](const StepEntry& entry) { return entry.kind == Kind::kReduction; });
    if (is_captured(collectives, rank))
      habits.captured.push_back(rank.rank);
    else if (trains_alone(job, collectives, rank))
      habits.alone.push_back(rank.rank);
    add_early(collectives, rank, habits);
    add_never(job, collectives, rank, never);
    add_doubtful(collectives, rank, habits);
    std::int32_t number = rank.rank;
    Habit habit = read_repetitions(job, collectives, std::move(rank));
    if (const std::string* doubt = habit.doubt()) habits.doubts[*doubt].push_back(number);
    if (habit.persistent())
      add_repeated(collectives, std::move(habit), habits);
    else
      rank = std::move(habit.rank);  // its room is the next one's
  });
  habits.never = whole_groups(collectives, std::move(never));
  for (auto& [communicator, sharing] : habits.repeated) std::sort(sharing.ranks.begin(), sharing.ranks.end());
  std::sort(habits.captured.begin(), habits.captured.end());
  for (auto* doubts : {&habits.doubts, &habits.doubts_of_missing})
    for (auto& [doubt, ranks] : *doubts) std::sort(ranks.begin(), ranks.end());
  return habits;
}

}  // namespace ddpscope::patterns
