// Queues of Python's multiprocessing, by which worker processes hand their rank what they have made.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// When the rank's own process took a message from a queue that worker processes of it put into, ascending,
// one time a message, however many reads it took and whatever came beside it (tensors come over sockets of
// their own). A queue shows by its semaphore of free slots: who puts a message in only waits for it, who
// takes one out only posts it; locks are waited for and posted by the same process. Empty where no such queue
// was recorded.
std::vector<std::int64_t> find_taken_messages(const model::Job& job, std::int32_t rank);

}  // namespace ddpscope::patterns
