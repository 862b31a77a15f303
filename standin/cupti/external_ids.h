// External correlation: the ids that a thread has pushed and not popped.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

namespace ddpscope::standin::cupti {

/// Fail with CUPTI_ERROR_INVALID_PARAMETER for what is no kind; pop with CUPTI_ERROR_QUEUE_EMPTY.
void push_external_id(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
std::uint64_t pop_external_id(CUpti_ExternalCorrelationKind kind);

struct ExternalId {
  CUpti_ExternalCorrelationKind kind;
  std::uint64_t id;
};

/// The latest id of each kind that the calling thread has, by kind.
std::vector<ExternalId> external_ids();

}  // namespace ddpscope::standin::cupti
