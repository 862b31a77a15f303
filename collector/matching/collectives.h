// All communicators of the job, who is in them, and the collectives that each member issued, in order.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "collector/model/job.h"
#include "trace/read/table.h"

namespace ddpscope::matching {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// What all members of a communicator must agree on.
struct Signature {
  trace::Operation operation = trace::Operation::kNone;
  std::uint8_t datatype = 0;
  std::uint8_t reduction = 0;  // 0 where the operation reduces nothing
  std::int32_t root = -1;      // -1 where the operation has none
  std::uint64_t count = 0;     // elements

  bool operator==(const Signature&) const = default;
};
std::string to_text(const Signature& signature);  // "AllReduce of 1 float32 (sum)"
std::uint64_t bytes_of(const Signature& signature);

struct CollectiveCall {
  model::EventRef event;
  std::int64_t begin_ns;
  std::int64_t enqueue_ns;  // end of the call, or of the outermost group that it stands in
  Signature signature;
  std::uint32_t communicator;  // index
  std::uint32_t member;        // index in the communicator
  std::uint32_t ordinal;       // among the member's calls of this communicator
  std::uint32_t site;          // number of the code place, equal on all ranks; 0 unknown
  std::uint64_t stream;
  std::uint64_t buffer;
  std::uint16_t thread;
  std::uint8_t device;
  std::int32_t peer;  // of Send and Receive, rank in the communicator
};

struct Member {
  std::int32_t rank_in_communicator;
  std::int32_t rank;  // of the job
  std::uint32_t process;
  std::uint32_t number;  // of the communicator in the process
  model::EventPlace made;
  bool incomplete = false;  // recording lost calls of its process: ordinals do not pair with the others'
  std::vector<std::uint32_t> calls;           // indices of collectives, in the order of issue
  std::vector<std::uint32_t> point_to_point;  // likewise of Send and Receive
  std::int64_t aborted_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t error_ns =
      std::numeric_limits<std::int64_t>::max();  // first error that the communicator reported
};

// A unique id that is used again makes another communicator: each process's k-th use of it belongs to the
// k-th.
struct Communicator {
  std::uint64_t id;
  std::int32_t size;
  std::vector<Member> members;  // by rank in the communicator; those without a trace are missing
};

struct Collectives {
  std::vector<Communicator> communicators;
  trace::Table<CollectiveCall> calls;           // process after process, each in the order of begin
  std::vector<std::uint32_t> first_of_process;  // into calls; one more than there are processes
  std::vector<std::vector<std::uint64_t>>
      sites;  // by number: a hash of each frame, innermost first; 0 has none

  const Member& member_of(const CollectiveCall& call) const {
    return communicators[call.communicator].members[call.member];
  }
  const CollectiveCall& call_at(const Member& member, std::size_t ordinal) const {
    return calls[member.calls[ordinal]];
  }
};

Collectives find_collectives(const model::Job& job);

}  // namespace ddpscope::matching
