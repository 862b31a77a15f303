// The index of collectives of a job.
#pragma once
#include <vector>

#include "collector/merged/job_tracks.h"

namespace ddpscope::merged {

// The rows of the job's communicators, in the order of the file: the largest first. One with messages has a
// row for them, below that of its collectives if it has such as well.
struct CommunicatorOrder {
  struct Row {
    std::uint32_t communicator;  // index in Collectives
    bool messages;
  };
  explicit CommunicatorOrder(const matching::Collectives& collectives);
  std::vector<Row> listed;          // by row
  std::vector<std::uint32_t> rows;  // the first of each communicator
};

std::vector<CommunicatorRow> communicator_rows(Making& making, const CommunicatorOrder& order);

// After the tracks are settled. Arrivals at what is marked carry its severity.
void write_collectives(Making& making, const detectors::Facts& facts, const CommunicatorOrder& order,
                       const std::vector<Mark>& marks);

}  // namespace ddpscope::merged
