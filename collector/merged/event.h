// One event of a track, its place, and all that is known of it.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/merged/kinds.h"
#include "collector/merged/rows.h"

namespace ddpscope::merged {

struct EventPlace {
  std::uint32_t track = kNone;
  std::uint64_t index = 0;  // in the track, by time

  bool operator==(const EventPlace&) const = default;
  auto operator<=>(const EventPlace&) const = default;
};
constexpr EventPlace kNoEvent{};

struct Event {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // not before begin
  std::uint32_t name = 0;   // index into Reader::names
  Kind kind = Kind::kOther;
  bool open = false;          // never returned: `end_ns` is the end of what its process recorded
  std::uint8_t severity = 0;  // of findings whose evidence it is, as in Node
  std::uint32_t calls = 1;    // not used by the file yet: folded calls are told by detail()
};

// An event that a finding's evidence names.
struct Mark {
  EventPlace event;
  std::uint32_t finding = 0;   // index into Outcome::findings
  std::uint32_t evidence = 0;  // index into Finding::evidence
  std::uint8_t severity = 0;   // as in Node
};

// Where an event belongs to a collective of the index; a graph's launch, and the end of a group, may run
// several, one after the other. Of sends and receives only the communicator is known: count 0.
struct CollectiveRef {
  std::uint32_t communicator = kNone;  // index into Reader::communicators
  std::uint32_t member = 0;            // index into its members
  std::uint64_t sequence = 0;          // of the first
  std::uint64_t count = 1;
};

struct Detail {
  Event event;
  std::uint32_t track = kNone;                              // that it stands on
  std::string call;                                         // as `dump` prints it
  std::vector<std::pair<std::string, std::string>> fields;  // likewise; strings are escaped and quoted
  std::vector<std::string> stack;          // innermost first: "FILE:LINE FUNCTION", native "MODULE+0xADDRESS"
  std::string process;                     // HOST:PID
  std::uint16_t thread = 0;                // number in the process
  std::vector<CollectiveRef> collectives;  // one a communicator: a launch or a group may be of several
  EventPlace enqueued_by{};                // of device work: the host's call; kNoEvent: not known
  std::string file;                        // path that it concerns, empty if none
  std::uint64_t bytes = 0;                 // that it moves, 0 if none or not known
  std::uint64_t digest = 0;                // of an input copy or a written block; 0: none
  std::uint64_t calls = 1;                 // that are folded into it
};

}  // namespace ddpscope::merged
