// The facts of the job with the groups' calls in the place of NCCL's.
#include "collector/analysis/group_findings.h"

#include "collector/detectors/divergent_checks.h"
#include "collector/detectors/hung_collective.h"
#include "collector/detectors/hung_creation.h"
#include "collector/detectors/parted_copies.h"
#include "collector/matching/group_collectives.h"
#include "collector/ordering/group_waits.h"

namespace ddpscope::analysis {
namespace {

std::vector<bool> find_barriers(const matching::Collectives& calls) {
  std::vector<bool> barriers(calls.calls.size());
  for (std::uint32_t call = 0; call < calls.calls.size(); ++call)
    barriers[call] = calls.calls.signature(call).operation == trace::Operation::kGroupBarrier;
  return barriers;
}

// Those of the groups by which the ranks train.
std::vector<patterns::DataParallelGroup> find_training(const std::vector<patterns::DataParallelGroup>& of_job,
                                                       const matching::Collectives& calls) {
  std::vector<patterns::DataParallelGroup> found;
  for (const patterns::DataParallelGroup& group : of_job)
    for (std::uint32_t c = 0; c < calls.communicators.size() && group.by_framework; ++c) {
      if (calls.communicators[c].id != group.process_group) continue;
      found.push_back(group);
      found.back().communicator = c;
    }
  return found;
}

}  // namespace

GroupFindings::GroupFindings(const model::Job& job, const detectors::CodePlaces& places)
    : job_(job),
      calls_(matching::find_group_collectives(job)),
      known_(job, calls_, ordering::find_group_waits(job, calls_), places),
      barriers_(find_barriers(calls_)),
      times_([this] { return patterns::CollectiveTimes::of_runs(job_, calls_); }) {}

detectors::Facts GroupFindings::facts_in(const detectors::Facts& of_job) {
  training_ = find_training(of_job.data_parallel, calls_);
  return {known_.facts(),
          barriers_,
          training_,
          of_job.written,
          of_job.names,
          of_job.order,
          of_job.file_races,
          of_job.reduction_habits,
          of_job.samples,
          of_job.uneven_steps,
          of_job.framework_steps,
          times_};
}

void GroupFindings::detect(const detectors::Facts& facts, const detectors::Facts& groups,
                           bool (*is_asked)(std::string_view, const std::vector<std::string>&),
                           const std::vector<std::string>& only, bool hangs,
                           findings::Outcome& outcome) const {
  if (calls_.communicators.empty()) return;
  std::size_t before = outcome.findings.size();
  if (is_asked("skipped-barrier", only)) detectors::detect_skipped_barrier(groups, outcome);
  if (is_asked("mismatched-collective", only)) detectors::detect_mismatched_collective(groups, outcome);
  if (is_asked("divergent-existence-check", only)) detectors::detect_divergent_group_checks(groups, outcome);
  if (hangs && is_asked("hung-collective", only)) {
    auto held = detectors::detect_hung_creation(groups, {}, outcome);
    detectors::detect_hung_calls(groups, {}, outcome, held);
  }
  const bool alone = facts.collectives.calls.empty() && !calls_.calls.empty();
  if (is_asked("rank-divergence", only)) detectors::detect_parted_copies(groups, alone, outcome);
  if (alone) {
    if (is_asked("straggler", only)) detectors::detect_straggler(groups, outcome);
    if (is_asked("slow-checkpoint", only)) detectors::detect_slow_checkpoint(groups, outcome);
  }
  // Groups count behind the communicators of the job, which findings are compared by.
  for (std::size_t i = before; i < outcome.findings.size(); ++i) {
    std::optional<std::uint32_t>& communicator = outcome.findings[i].place.communicator;
    if (communicator) *communicator += static_cast<std::uint32_t>(facts.collectives.communicators.size());
  }
}

std::set<std::string> GroupFindings::judged(bool hangs) const {
  if (calls_.calls.empty() || !matching::knows_all_groups(job_, calls_)) return {};
  std::set<std::string> slugs{"skipped-barrier", "mismatched-collective", "slow-checkpoint", "straggler"};
  if (hangs) slugs.insert("hung-collective");
  return slugs;
}

}  // namespace ddpscope::analysis
