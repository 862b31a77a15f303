// One pass over the updates of each rank, one over the calls of each communicator.
#include "collector/patterns/training_world.h"

#include <algorithm>
#include <utility>

#include "collector/patterns/tcp_groups.h"

namespace ddpscope::patterns {
namespace {

using matching::Collectives;

constexpr std::size_t kLeastUpdates = 3;

// By rank, with the process that trains.
std::map<std::int32_t, std::pair<std::uint32_t, Reductions>> find_trainers(const model::Job& job,
                                                                           const Collectives& collectives) {
  std::map<std::int32_t, std::pair<std::uint32_t, Reductions>> trainers;
  for_each_rank_steps(job, collectives, [&](const RankSteps& rank) {
    bool captured = std::ranges::any_of(rank.unreduced, &Step::captured);  // reductions too, perhaps
    if (rank.unreduced.size() >= kLeastUpdates && !captured)
      trainers.emplace(rank.rank, std::pair(rank.process, updates_of(rank)));
  });
  return trainers;
}

bool exchange_more_than_metrics(const Collectives& collectives, std::uint32_t process, std::int64_t from_ns) {
  for (const matching::Communicator& communicator : collectives.communicators)
    for (const matching::Member& member : communicator.members) {
      if (member.process != process || communicator.size < 2) continue;
      for (std::uint32_t call : member.calls)
        if (collectives.calls.signature(call).count > kFewElements &&
            collectives.calls.begin_ns(call) >= from_ns)
          return true;
    }
  return false;
}

}  // namespace

std::optional<DataParallelGroup> find_training_world(const model::Job& job, const Collectives& collectives) {
  if (collectives.communicators.empty()) return std::nullopt;
  auto trainers = find_trainers(job, collectives);
  if (trainers.size() < 2 || !find_tcp_groups(job).empty()) return std::nullopt;
  DataParallelGroup world;
  world.known_by = DataParallelGroup::KnownBy::kNothing;
  for (auto& [rank, trainer] : trainers) {
    auto& [process, updates] = trainer;
    if (exchange_more_than_metrics(collectives, process, updates.times.all().front())) return std::nullopt;
    world.of_rank.emplace(rank, std::move(updates));
  }
  return world;
}

}  // namespace ddpscope::patterns
