// Counts inputs that stand apart; where none are copied, sets of reductions.
#include "collector/patterns/step_summary.h"

#include <algorithm>
#include <vector>

#include "collector/model/order_statistics.h"
#include "collector/patterns/repeated_reductions.h"

namespace ddpscope::patterns {
namespace {

using Kind = StepEntry::Kind;

// Copies that follow each other with nothing between are one batch's.
std::size_t count_inputs(const RankSteps& rank, const Step& step) {
  std::size_t count = 0;
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    const StepEntry& entry = rank.entries[i];
    if (entry.kind != Kind::kInput) continue;
    bool apart =
        i == step.first_entry || entry.launches_before > 0 || rank.entries[i - 1].kind != Kind::kInput;
    count += apart;
  }
  return count;
}

// Of an even number the lower one.
std::size_t median_or_none(std::vector<std::size_t> counts) {
  return counts.empty() ? 0 : model::value_at(counts, (counts.size() - 1) / 2);
}

// Without the first step: parameters are copied in it.
std::size_t median_inputs(const RankSteps& rank) {
  std::vector<std::size_t> counts;
  for (const auto* steps : {&rank.steps, &rank.unreduced})
    for (const Step& step : *steps)
      if (step.first_entry > 0) counts.push_back(count_inputs(rank, step));
  return median_or_none(std::move(counts));
}

std::size_t median_sets(const model::Job& job, const matching::Collectives& collectives,
                        const RankSteps& rank) {
  std::vector<std::size_t> counts;
  for (const RepeatedSet& set : find_repeated_reductions(job, collectives, rank))
    counts.push_back(std::max<std::size_t>(set.times, 1));
  return median_or_none(std::move(counts));
}

}  // namespace

StepSummary summarise_steps(const model::Job& job, const matching::Collectives& collectives,
                            std::uint32_t process) {
  RankSteps rank = find_steps(job, collectives, process);
  StepSummary summary;
  summary.reductions = static_cast<std::size_t>(
      std::count_if(rank.entries.begin(), rank.entries.end(),
                    [](const StepEntry& entry) { return entry.kind == Kind::kReduction; }));
  summary.steps = rank.steps.size() + rank.unreduced.size();
  if (summary.steps == 0) return summary;
  summary.example = (rank.steps.empty() ? rank.unreduced : rank.steps).back().optimizer;
  summary.micro_batches = median_inputs(rank);
  summary.sign = MicroBatchSign::kInputs;
  if (summary.micro_batches == 0) {
    summary.micro_batches = median_sets(job, collectives, rank);
    summary.sign = MicroBatchSign::kReductions;
  }
  if (summary.micro_batches == 0) summary.sign = MicroBatchSign::kNone;
  return summary;
}

}  // namespace ddpscope::patterns
