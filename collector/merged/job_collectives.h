// The index of collectives of a job.
#pragma once
#include <vector>

#include "collector/merged/job_tracks.h"

namespace ddpscope::merged {

// Of the job's communicators, in the order of the file: the largest first.
struct CommunicatorOrder {
  explicit CommunicatorOrder(const matching::Collectives& collectives);
  std::vector<std::uint32_t> communicators;  // index in Collectives by row
  std::vector<std::uint32_t> rows;           // the other way round
};

std::vector<CommunicatorRow> communicator_rows(Making& making, const CommunicatorOrder& order);

// After the tracks are settled. Arrivals at what is marked carry its severity.
void write_collectives(Making& making, const detectors::Facts& facts, const CommunicatorOrder& order,
                       const std::vector<Mark>& marks);

}  // namespace ddpscope::merged
