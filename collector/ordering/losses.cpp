// Health counters and recycled chunks.
#include "collector/ordering/losses.h"

#include <algorithm>
#include <limits>
#include <map>

#include "collector/model/makers.h"

namespace ddpscope::ordering {

bool has_unhooked_collectives(const model::Job& job) {
  return std::any_of(job.processes.begin(), job.processes.end(),
                     [](const model::Process& process) { return process.unhooked > 0; });
}

bool lost_records(const model::Job& job) {
  if (has_unhooked_collectives(job)) return true;
  // A rank without a trace, or a worker whose maker may have left one: order may have passed through either.
  // What becomes a rank was made by whatever starts ranks.
  std::vector<std::int32_t> ranks = job.ranks();
  auto in_world =
      std::count_if(ranks.begin(), ranks.end(), [&](std::int32_t rank) { return rank < job.world_size; });
  if (in_world < job.world_size) return true;
  return std::any_of(job.processes.begin(), job.processes.end(), [&](const model::Process& process) {
    return (process.role == model::Role::kWorker && process.parent < model::kMakerNotRecorded &&
            !model::becomes_rank(job, process)) ||
           process.file.health(trace::Health::kept_records_lost) ||
           process.file.health(trace::Health::bulk_records_lost) ||
           process.file.health(trace::Health::chunk_open_failed) ||
           process.file.health(trace::Health::threads_lost) || !process.file.damage().empty();
  });
}

std::int64_t complete_from_ns(const model::Job& job) {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    if (!file.health(trace::Health::bulk_records_overwritten)) continue;
    // The ring takes the oldest chunk there is: what it has left begins with the oldest one left. A thread
    // may have lost more of its own, if it was the only one to write.
    std::map<std::uint16_t, std::uint64_t> oldest;
    for (const trace::RecordSpan& span : file.records()) {
      if (span.kind != trace::ChunkKind::kBulk || span.records.empty()) continue;
      auto [known, fresh] = oldest.emplace(span.thread, span.records.front().begin);
      known->second = std::min(known->second, span.records.front().begin);
    }
    for (auto [thread, ticks] : oldest) from = std::max(from, job.time_ns(i, ticks));
  }
  return from;
}

}  // namespace ddpscope::ordering
