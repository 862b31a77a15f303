// How long a collective takes by itself, learned from those that the host waited for with nothing else to do.
#pragma once
#include <optional>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::patterns {

// What the slowest link carries for the buffers given (nccl-tests' "bus bandwidth": 2(n-1)/n of the bytes for
// an all-reduce of n ranks).
double moved_bytes(const matching::Signature& signature, std::int32_t ranks);

// A fixed time an operation and one a moved byte.
struct LinkCost {
  double ns_per_call = 0;
  double ns_per_byte = 0;

  double of(const matching::Signature& signature, std::int32_t ranks) const;
};

// Nothing if no such wait was seen, or none for at least 64 KiB: a few bytes say nothing of many.
std::optional<LinkCost> learn_link_cost(const model::Job& job, const matching::Collectives& collectives,
                                        const ordering::DeviceOrder& device_order);

}  // namespace ddpscope::patterns
