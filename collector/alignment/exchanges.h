// What the hosts of a job are known to have done one before the other, from what passed between them.
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "collector/alignment/offset_bounds.h"
#include "collector/model/job.h"

namespace ddpscope::alignment {

// By two hosts, the lower number first: the offset of the second one's clock against the first one's. Times
// are each host's own, as placed so far.
using Exchanges = std::map<std::pair<std::uint32_t, std::uint32_t>, OffsetBounds>;

// From the collectives, messages and communicators of NCCL and the bytes of TCP connections that hosts share.
// `job`: each host is placed somehow, its processes' first and last moments are set, and no two hosts count
// as aligned.
Exchanges find_exchanges(const model::Job& job);

}  // namespace ddpscope::alignment
