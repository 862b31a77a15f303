// Chunks are numbered, hence stand by age.
#include "collector/patterns/known_launches.h"

namespace ddpscope::patterns {

std::int64_t launches_known_from(const model::Job& job, std::uint32_t process) {
  const model::Process& owner = job.processes[process];
  if (owner.file.health(trace::Health::bulk_records_overwritten) == 0) return owner.first_ns;
  for (const trace::RecordSpan& span : owner.file.records())
    if (span.kind == trace::ChunkKind::kBulk && !span.records.empty())
      return job.time_ns(process, span.records.front().begin);
  return owner.last_ns;
}

}  // namespace ddpscope::patterns
