// Nodes of the level-of-detail pyramids, as they lie in the file: views point into mapped memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::merged {

constexpr std::size_t kLeafEvents = 16;  // a node of level 0 stands for as many events, the last for fewer
constexpr std::size_t kFanOut = 8;       // a node of level k for as many of level k - 1
constexpr std::size_t kTopNodes = 8;     // the coarsest level has no more

// No word on a severity; else 1 + findings::Severity.
constexpr std::uint8_t kNoSeverity = 0;

// Of a stretch of a track's events: they do not overlap, so neither do nodes. Times are ns since the job's
// start. A damaged file may say anything here: who draws clamps.
struct Node {
  std::int64_t first_ns;       // begin of the first event
  std::int64_t last_end_ns;    // end of the last
  std::uint64_t busy_ns;       // sum of the events' durations
  std::uint32_t count;         // events, up to 2^32 - 1
  std::uint8_t max_severity;   // of findings whose evidence is among them, 1 + findings::Severity; 0: none
  std::uint8_t dominant_kind;  // that took most of the time; of as many the lowest number
  std::uint16_t kinds;         // a bit for each that occurs
};
static_assert(sizeof(Node) == 32);

// Of a stretch of a communicator's sequence numbers: of one at level 0, of kFanOut^k at level k.
struct CollectiveNode {
  std::int64_t first_arrival_ns;  // the first member enqueued it
  std::int64_t last_arrival_ns;   // of a stretch: of its last one
  std::int64_t last_end_ns;       // kNever (collectives.h) if one never completes
  std::uint64_t waited_ns;        // last minus first arrival, summed up over the stretch
  std::uint32_t count;            // collectives
  std::uint32_t latest_member;    // who came last; of a stretch: last of the one waited for longest
  std::uint8_t operation;         // trace::Operation; of a stretch: of the one that took longest
  std::uint8_t kind;              // Kind: kCollective or kBarrier, likewise
  std::uint8_t flags;             // CollectiveFlag, of all
  std::uint8_t max_severity;      // as in Node
  std::uint32_t unused;
};
static_assert(sizeof(CollectiveNode) == 48);

// A rank, or the ranks of a host, in one column of the whole run's time.
struct Cell {
  // By which it came behind the first to arrive: mean of its collectives in that column, of a host that of
  // its latest rank. kNoLateness where it had none.
  std::uint32_t late_us;
  // Parts of the column's time, in 1/255, of a host the mean of its ranks.
  std::uint8_t waiting, compute, files;  // waiting: in a collective, too
  std::uint8_t max_severity;             // of findings whose evidence lies there, as in Node
};
static_assert(sizeof(Cell) == 8);
constexpr std::uint32_t kNoLateness = ~0u;

}  // namespace ddpscope::merged
