// By the ids of groups, which are equal on all their ranks.
#include "collector/patterns/framework_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ddpscope::patterns {
namespace {

constexpr std::size_t kLeastRounds = 3;

// Passes that the reducer which is busiest has reduced: two models that learn in turn share their batches.
std::size_t rounds_of(const FrameworkSteps& found) {
  std::map<Reducer, std::size_t> passes;
  for (const FrameworkStep& step : found.steps)
    for (const BackwardPass& pass : step.passes)
      for (Reducer reducer : pass.reduced) ++passes[reducer];
  std::size_t most = 0;
  for (const auto& [reducer, count] : passes) most = std::max(most, count);
  return most;
}

Reductions updates_of(const UnreducedSteps& unreduced) {
  std::vector<std::int64_t> times;
  for (const FrameworkStep* step : unreduced.steps) times.push_back(step->end_ns);
  return updates_at(std::move(times));
}

class Groups {
 public:
  void add(std::uint64_t id, std::int32_t rank, const std::vector<std::int64_t>& times, std::size_t rounds) {
    if (times.size() < kLeastRounds) return;
    DataParallelGroup& group = by_id_[id];
    group.by_framework = true;
    group.process_group = id;
    group.of_rank[rank] = {ReductionTimes(times), rounds};
  }

  std::vector<DataParallelGroup> take() {
    std::vector<DataParallelGroup> groups;
    for (auto& [id, group] : by_id_)
      if (group.of_rank.size() >= 2) groups.push_back(std::move(group));
    return groups;
  }

 private:
  std::map<std::uint64_t, DataParallelGroup> by_id_;
};

}  // namespace

std::vector<DataParallelGroup> find_framework_groups(const model::Job& job,
                                                     const std::vector<FrameworkSteps>& steps) {
  Groups by_reducers, by_program;
  DataParallelGroup alone;
  alone.known_by = DataParallelGroup::KnownBy::kStart;
  alone.by_framework = true;
  for (std::int32_t rank : job.ranks()) {
    std::int32_t process = job.process_of_rank(rank);
    if (process < 0) continue;
    const FrameworkSteps& own = steps[static_cast<std::size_t>(process)];
    for (const auto& [id, times] : own.carried)
      by_reducers.add(id, rank, times, std::min(times.size(), rounds_of(own)));
    for (const auto& [id, reductions] : own.own_reductions)
      if (!reductions.of_parts()) by_program.add(id, rank, reductions.times_ns, reductions.times_ns.size());
    for (const UnreducedSteps& unreduced : find_unreduced_steps(own))
      if (!unreduced.exchanged) alone.of_rank[rank] = updates_of(unreduced);
  }
  auto groups = by_reducers.take();
  if (groups.empty()) groups = by_program.take();
  if (groups.empty() && alone.of_rank.size() >= 2) groups.push_back(std::move(alone));
  return groups;
}

}  // namespace ddpscope::patterns
