// The rows of the time lines, in their fixed order, and facts of the job: read when a merged file is opened.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collector/merged/kinds.h"

namespace ddpscope::merged {

constexpr std::uint32_t kNone = ~0u;

struct JobFacts {
  std::string source;   // path of the trace folder as it was given
  std::string version;  // of the ddpscope that wrote it
  std::uint64_t start_unix_ns = 0;
  std::int64_t duration_ns = 0;  // no event counts that begins later or before 0: times are clamped to it
  std::uint64_t calls = 0;       // as `info` counts events: folded ones are in
  std::uint64_t events = 0;      // on all tracks
  std::uint64_t dropped = 0;     // that recording had no room for
  std::uint64_t events_left_out = 0;  // that overlap so many others that no track was left for them
  std::int64_t clock_error_ns = 0;    // model::kUnaligned (model/job.h): hosts are not aligned
  std::int32_t world_size = 0;        // as the job says; 0: nothing does
  std::int32_t ranks = 0;             // with a trace
  std::int32_t processes = 0;         // with a trace
  std::int32_t attempt = 0, other_attempts = 0;
  std::string gpu_timing;  // none, events, profiler or cupti
  bool runs_on = false;    // the job still ran when the file was made
};

struct HostRow {
  std::string name;
  std::uint32_t number = 0;  // in the order in which reports name hosts
  std::uint64_t id = 0;
  std::int64_t clock_error_ns = 0;
  std::vector<std::uint32_t> ranks;  // indices of RankRow, ascending
};

// A rank, or (rank -1) a process that is none and works for none: those come after all ranks.
struct RankRow {
  std::int32_t rank = -1;
  std::uint32_t host = kNone;      // index; kNone: it left no trace, nobody knows where it ran
  bool missing = false;            // a rank of the job that left no trace: it has no tracks
  bool numbered_by_start = false;  // its number was guessed: order of start
  std::string process;             // HOST:PID
  std::string role;                // rank, worker, launcher, other
  std::string device;              // "cuda:0", empty if none became current
  std::uint32_t first_track = 0, tracks = 0;
  std::int64_t first_ns = 0, last_ns = 0;  // of its records
  std::uint64_t dropped = 0;
};

// A line of events that do not overlap, in order of time. Calls that nest, or overlap, have a track a depth.
struct Track {
  std::uint32_t rank_row = 0;  // index of RankRow
  TrackKind kind = TrackKind::kHost;
  std::uint16_t depth = 0;    // 0: outermost
  std::uint64_t lane = 0;     // see TrackKind
  std::uint32_t process = 0;  // index into Reader::processes
  std::uint64_t events = 0;
  std::int64_t first_ns = 0, last_end_ns = 0;
  bool last_is_open = false;      // its last event never returned: it ends where its process's records end
  std::uint8_t max_severity = 0;  // as in Node
  std::uint16_t levels = 0;       // of its pyramid; 0 only if it has no event
  std::string label;              // of the lane: "python", "stream 7", "worker 4711"
};

// What tells a track from others, and gives them their order in a file.
inline auto key_of(const Track& track) {
  return std::tuple(track.rank_row, track.kind, track.process, track.lane, track.depth);
}

struct ProcessRow {
  std::string name;  // HOST:PID
  std::int32_t pid = 0;
  std::uint32_t host = 0;
  std::int32_t rank = -1;  // that it is, or works for
  std::string role;
  std::string command;
};

// What events are called: a call, a kernel (demangled), a range. The same text may stand in several kinds.
struct Name {
  std::string_view text;
  Kind kind = Kind::kOther;
  std::uint64_t count = 0;  // events, all tracks
};

// How often a name occurs on a track.
struct NameCount {
  std::uint32_t name;  // index
  std::uint32_t count;
};

}  // namespace ddpscope::merged
