// Whether some ranks had come to the end of their data where others went on with the same pass through it.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// Of one rank: from its last step to the call with which it parts from the others.
struct LastStretch {
  std::int32_t rank;
  std::int64_t from_ns, until_ns;
  std::vector<std::int64_t> steps_ns;  // ends of its steps, ascending; the last is from_ns
};

enum class Data : std::uint8_t { kUnknown, kLeft, kUsedUp };

// kUsedUp: each rank that is done
// - has taken, byte for byte, what its loader workers sent; workers read ahead, so in the middle of a pass
//   more is sent than was taken;
// - or, without workers, found the end of a file that served several of its steps, and read nothing more;
// - or all ranks together have by then read every sample equally often, in a shuffled order: two times or
//   more, or once and leaving out none between the first and the last. In the middle of a pass some are read
//   and others not yet.
// kLeft: one of them has not, or those that go on are in a new pass: what they take comes from new workers
// only, or was read more often than what those that are done took last.
Data find_data_left(const model::Job& job, const std::vector<LastStretch>& done,
                    const std::vector<LastStretch>& going_on);

}  // namespace ddpscope::patterns
