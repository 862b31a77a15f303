// What recording lost of the calls that order.
#pragma once
#include "collector/model/job.h"

namespace ddpscope::ordering {

// Records that found no room in any process, damage, processes without a trace, collectives that no hook saw:
// edges are missing, nobody knows where.
bool lost_records(const model::Job& job);

// Collectives that the hooks did not reach: what they order is not known, in any rank.
bool has_unhooked_collectives(const model::Job& job);

// From here on no record was overwritten by a ring, in any process; the earliest time there is if none was.
std::int64_t complete_from_ns(const model::Job& job);

}  // namespace ddpscope::ordering
