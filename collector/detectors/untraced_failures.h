// Processes that failed before they made any recorded call, as whoever had started them was told.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::detectors {

struct UntracedFailure {
  std::int32_t rank;            // -1 if it is not known which
  std::string process;          // HOST:PID
  std::string sentence;         // "exited with 1 before its first recorded call"
  model::EventRef awaited;      // the call by which its parent, a launcher of ranks, was told
  std::int64_t from_ns, to_ns;  // it ended between: its making, the end of that call
};

// By time. A child of a process that started ranks as well, lived beside them and was not told to end before;
// none of a launcher's other children that ended with 0 or by a signal that is sent to end a job. Which rank
// it was is known if of all ranks it alone left no trace.
std::vector<UntracedFailure> find_untraced_failures(const model::Job& job);

}  // namespace ddpscope::detectors
