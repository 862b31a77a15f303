// When a device was done with what its host had launched before it issued a collective.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct TimedKernel {
  std::int64_t launched_ns, begin_ns, end_ns;
};
// Of a process, by launch, NCCL's left out. Empty if none was timed, or it is not told of all which call
// launched them.
std::vector<TimedKernel> find_timed_kernels(const model::Job& job, std::uint32_t process);

constexpr std::int64_t kNotDone = -1;  // not known when

// By ordinal of the member: the end of the last of all kernels that its process had launched by then, NCCL's
// left out. Empty if none was timed, or it is not told of all which call launched them.
std::vector<std::int64_t> find_kernels_done(const model::Job& job, const matching::Collectives& collectives,
                                            const matching::Member& member);

}  // namespace ddpscope::patterns
