// The index of collectives: who came when to which collective of a communicator, and when it was over.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "collector/matching/call_table.h"
#include "collector/merged/event.h"

namespace ddpscope::merged {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();    // it does not come to that
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();  // nothing tells

enum CollectiveFlag : std::uint8_t {
  kMissing = 1,         // a member has no call at this place (those that left no trace are not members)
  kMismatched = 2,      // members differ in what they issued
  kNeverCompleted = 4,  // by a member: its host's wait never returns, or its device never finished
  kTimed = 8,           // device times are known
};

struct CommunicatorMember {
  std::int32_t rank_in_communicator = 0;
  std::int32_t rank = -1;         // of the job
  std::uint32_t rank_row = 0;     // index into Reader::ranks
  std::uint64_t collectives = 0;  // that it issued; of messages those that it sent or received
};

struct CommunicatorRow {
  std::uint64_t id = 0;   // hash of the unique id
  std::int32_t size = 0;  // as its members say
  std::string name;       // as matching::name_of has it; "world: send, recv" holds its messages
  std::vector<CommunicatorMember> members;  // by rank in it; those that left no trace are absent
  std::uint64_t collectives = 0;            // sequence numbers 0 ... collectives - 1
  std::uint16_t levels = 0;                 // of its pyramid
  std::int64_t first_ns = 0, last_ns = 0;
};

// What one member did at one place of the order. Times in ns since the job's start.
struct Arrival {
  std::int64_t arrival_ns = kNever;  // its host enqueued it; kNever: it has no call here
  std::int64_t begin_ns = kUnknown;  // its stream was free for it (if its device was timed)
  std::int64_t end_ns = kUnknown;    // the device was done, or (not timed) the host's wait that covers it
                                     // returned; kNever: that wait never returns
  std::uint32_t signature = 0;       // index into Collective::signatures
  std::uint8_t flags = 0;            // CollectiveFlag
  EventPlace event{};                // the host's call, or a graph's launch; track kNone: none
};

// Or a message: a send and the receive that gets it. Who is neither end has no arrival and no flag. They are
// in order of time, and run beside each other.
struct Collective {
  std::uint64_t sequence = 0;
  Kind kind = Kind::kCollective;                // or kBarrier
  std::uint8_t flags = 0;                       // CollectiveFlag, of all members
  std::uint8_t max_severity = 0;                // as in Node
  std::vector<matching::Signature> signatures;  // what was issued: one, or several if mismatched
  std::vector<Arrival> arrivals;                // by member, as CommunicatorRow::members

  // The root of its signature is the other end, as the communicator numbers it.
  bool is_message() const {
    return !signatures.empty() && (signatures.front().operation == trace::Operation::kSend ||
                                   signatures.front().operation == trace::Operation::kReceive);
  }
};

}  // namespace ddpscope::merged
