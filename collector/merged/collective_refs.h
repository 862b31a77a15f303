// Which collectives of the index an event belongs to.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "collector/merged/process_tables.h"
#include "collector/merged/reader.h"
#include "collector/merged/reader_state.h"

namespace ddpscope::merged {

using ArrivalTest = std::function<bool(const Arrival&)>;

// `number`: of the communicator in its process. Without a collective; communicator kNone: not known.
CollectiveRef find_communicator(const Reader::State& state, const ProcessTables& tables,
                                std::uint32_t number);

// The one of that communicator whose arrival `matches`, and came by `t_ns`.
CollectiveRef find_collective(Reader::State& state, const ProcessTables& tables, std::uint32_t number,
                              std::int64_t t_ns, const ArrivalTest& matches);

// What a graph's launch ran. Its record does not say of which communicators that is.
std::vector<CollectiveRef> find_launched(Reader::State& state, std::uint32_t rank_row, std::int64_t t_ns,
                                         EventPlace place);

// What the end of a group enqueues: its thread's calls since the group began, also those that stand in other
// rows because the process holds several ranks. Its record does not say which. Empty if the beginning is not
// found.
std::vector<CollectiveRef> find_grouped(const Reader& reader, EventPlace end);

}  // namespace ddpscope::merged
