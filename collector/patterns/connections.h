// Which ranks can tell each other anything, by whatever means: communicators, sockets and pipes, memory,
// files.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/trainings.h"

namespace ddpscope::patterns {

using Parts = std::vector<std::vector<std::int32_t>>;  // each connected in itself; ranks ascending

// By communicators alone: the quick answer for most jobs.
Parts parts_by_communicators(const model::Job& job);

struct Connections {
  Parts parts;    // what surely connects
  Parts at_most;  // and what may
};

// A rank stands for its workers too. Surely connected are:
// - members of a communicator;
// - ends of a connection, be it to another rank or to a process that serves several (a store, a manager);
// - ranks between which bytes pass through a pipe or a pair of sockets; by way of a launcher only if they
//   arrive once the rank trains: what it is started with, and what it prints, are no connection.
// What may connect:
// - peers that left no trace, InfiniBand: all that know one are taken to know each other;
// - files that several processes have mapped shared and writable, other memory that they share, and the
//   queues, semaphores and events of the operating system that they use;
// - files that one rank writes since it trains, and another, which does not, looks for or opens after that,
//   and locks that are taken in the same way. Ranks that train in turn hand over so.
Connections find_connections(const model::Job& job, const files::SharedNames& names,
                             const std::vector<Training>& trainings);

}  // namespace ddpscope::patterns
