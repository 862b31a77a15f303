// A stack a kind, for each thread its own.
#include "standin/cupti/external_ids.h"

#include <array>

#include "standin/cupti/boundary.h"

namespace ddpscope::standin::cupti {
namespace {

using Stacks = std::array<std::vector<std::uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE>;

// Destructors of libraries call CUDA when those of the thread's variables have run: by then there is no stack
// here, and one that is made anew stays.
constinit thread_local Stacks* stacks = nullptr;

struct AtThreadsEnd {
  ~AtThreadsEnd() {
    delete stacks;
    stacks = nullptr;
  }
};

Stacks& own_stacks() {
  if (!stacks) {
    thread_local AtThreadsEnd end;
    (void)&end;
    stacks = new Stacks;
  }
  return *stacks;
}

std::vector<std::uint64_t>& stack(CUpti_ExternalCorrelationKind kind) {
  require(kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE,
          CUPTI_ERROR_INVALID_PARAMETER);
  return own_stacks()[static_cast<std::size_t>(kind)];
}

}  // namespace

void push_external_id(CUpti_ExternalCorrelationKind kind, std::uint64_t id) { stack(kind).push_back(id); }

std::uint64_t pop_external_id(CUpti_ExternalCorrelationKind kind) {
  auto& ids = stack(kind);
  require(!ids.empty(), CUPTI_ERROR_QUEUE_EMPTY);
  const std::uint64_t id = ids.back();
  ids.pop_back();
  return id;
}

std::vector<ExternalId> external_ids() {
  std::vector<ExternalId> latest;
  if (!stacks) return latest;
  for (std::size_t kind = 0; kind < stacks->size(); ++kind) {
    const std::vector<std::uint64_t>& ids = (*stacks)[kind];
    if (!ids.empty()) latest.push_back({static_cast<CUpti_ExternalCorrelationKind>(kind), ids.back()});
  }
  return latest;
}

}  // namespace ddpscope::standin::cupti
