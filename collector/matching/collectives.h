// All communicators of the job, who is in them, and the collectives that each member issued, in order.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "collector/matching/call_table.h"
#include "collector/model/job.h"

namespace ddpscope::matching {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

const char* name_of(trace::Operation operation);  // "all-reduce"
std::string to_text(const Signature& signature);  // "all-reduce of 1 float32 (sum)"
std::uint64_t bytes_of(const Signature& signature);
// Whether in such a call one rank of the communicator cannot be done before another, or the same, has come:
// of a broadcast all need the root.
bool needs(const Signature& signature, std::int32_t rank, std::int32_t other);

struct Member {
  std::int32_t rank_in_communicator;
  std::int32_t rank;  // of the job
  std::uint32_t process;
  std::uint32_t number;  // of the communicator in the process
  model::EventPlace made;
  // Recording lost calls of its process, or there are unknown graphs: ordinals do not pair with the others'.
  bool incomplete = false;
  bool unknown_graphs = false;  // of which it is not known what they hold, or how often that runs
  Numbers calls;                // of collectives, in Collectives::calls, in the order of issue
  Numbers point_to_point;       // likewise of Send and Receive
  bool one_sided = false;       // has calls that are in neither list, and numbered with them
  std::int64_t aborted_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t error_ns =
      std::numeric_limits<std::int64_t>::max();  // first error that the communicator reported

  void launches_unknown_graphs() { incomplete = unknown_graphs = true; }
};

// A unique id that is used again makes another communicator: each process's k-th use of it belongs to the
// k-th.
struct Communicator {
  std::uint64_t id;
  std::int32_t size;
  std::vector<Member> members;  // by rank in the communicator; those without a trace are missing

  std::size_t without_trace() const { return static_cast<std::size_t>(size) - members.size(); }
};

// What was captured into graphs stands where a launch runs it, once for each launch, and not where it was
// called.
struct Collectives {
  std::vector<Communicator> communicators;
  CallTable calls;
  std::vector<std::uint32_t> first_of_process;  // into calls; one more than there are processes
  std::vector<std::vector<std::uint64_t>>
      sites;  // by number: a hash of each frame, innermost first; 0 has none

  const Member& member_of(const CallForm& call) const {
    return communicators[call.communicator].members[call.member];
  }
  CollectiveCall call_at(const Member& member, std::size_t ordinal) const {
    return calls[member.calls[ordinal]];
  }
  const CallForm& form_at(const Member& member, std::size_t ordinal) const {
    return calls.form(member.calls[ordinal]);
  }
  const Signature& signature_at(const Member& member, std::size_t ordinal) const {
    return calls.signature(member.calls[ordinal]);
  }
  std::int64_t begin_ns_at(const Member& member, std::size_t ordinal) const {
    return calls.begin_ns(member.calls[ordinal]);
  }
  // Among its member's collectives.
  std::size_t ordinal_of(std::uint32_t call) const {
    return member_of(calls.form(call)).calls.place_of(call);
  }
};

Collectives find_collectives(const model::Job& job);

}  // namespace ddpscope::matching
