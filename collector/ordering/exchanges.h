// Objects of the operating system by which processes tell each other something: queues, semaphores, events,
// memory.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

struct ExchangeId {
  std::uint32_t host;
  std::uint64_t space, id;  // as in payload::Exchange
  auto operator<=>(const ExchangeId&) const = default;
};

struct ExchangeUse {
  Span call;  // or a run of calls on the object, with nothing in between
  bool tells;
};

// Queues, semaphores and events, by time.
std::map<ExchangeId, std::vector<ExchangeUse>> find_exchanges(const model::Job& job);

// Which message a receive got, and whose token a semaphore gave, is not known: all that was told by then may
// come before it, unseen. What inotify tells of may be anything that `judged` had done.
void add_exchange_edges(const model::Job& job, const std::vector<ThreadId>& judged, Graph& graph);

}  // namespace ddpscope::ordering
