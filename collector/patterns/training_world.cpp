// One pass over the updates of each rank, one over the calls of each communicator.
#include "collector/patterns/training_world.h"

#include <algorithm>
#include <utility>

#include "collector/matching/group_collectives.h"
#include "collector/ordering/stream_ends.h"

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

// Stores, barriers and heartbeats exchange tens of bytes at a time. What more is meant for shows in no call.
bool exchange_more_than_messages(const model::Job& job) {
  constexpr std::uint64_t kMoreThanMessages = 1024;
  constexpr std::uint64_t kMoreThanAMessage = 256;  // on the average of a run of calls
  ordering::StreamEnds streams = ordering::find_stream_ends(job);
  return std::ranges::any_of(streams.ends, [&](const auto& of) {
    const ordering::StreamEnd& end = of.second;
    auto peer = end.peer ? streams.ends.find(*end.peer) : streams.ends.end();
    if (end.of_store || peer == streams.ends.end()) return false;
    auto from = ordering::rank_process(job, end), to = ordering::rank_process(job, peer->second);
    return from && to && job.processes[*from].rank != job.processes[*to].rank &&
           std::ranges::any_of(end.sent, [&](const ordering::Transfer& sent) {
             return sent.bytes >= kMoreThanMessages && sent.bytes >= kMoreThanAMessage * sent.count;
           });
  });
}

}  // namespace

std::optional<DataParallelGroup> find_training_world(const model::Job& job, const Collectives& collectives) {
  if (collectives.communicators.empty()) return std::nullopt;
  auto trainers = find_trainers(job, collectives);
  if (trainers.size() < 2 || exchange_more_than_messages(job)) return std::nullopt;
  const Collectives groups = matching::find_group_collectives(job);
  DataParallelGroup world;
  world.known_by = DataParallelGroup::KnownBy::kNothing;
  for (auto& [rank, trainer] : trainers) {
    auto& [process, updates] = trainer;
    std::int64_t first_ns = updates.times.all().front();
    if (exchange_more_than_metrics(collectives, process, first_ns) ||
        exchange_more_than_metrics(groups, process, first_ns))
      return std::nullopt;
    world.of_rank.emplace(rank, std::move(updates));
  }
  return world;
}

}  // namespace ddpscope::patterns
