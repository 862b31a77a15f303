// Rows of a merged file out of a job: hosts, ranks, processes, and which process stands in which row.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/merged/facts_code.h"
#include "collector/model/job.h"

namespace ddpscope::merged {

struct JobRows {
  Facts facts;
  std::vector<std::uint32_t> row_of_process;  // index into facts.ranks; of several ranks the first
  // Its own or, of a rank that shares a process with others, that one; then its workers.
  std::vector<std::vector<std::uint32_t>> processes_of_row;

  std::uint32_t row_of_rank(std::int32_t rank) const;  // kNone
};

// `runs_on`, `source` and `version` are left to the caller.
JobRows rows_of(const model::Job& job);

}  // namespace ddpscope::merged
