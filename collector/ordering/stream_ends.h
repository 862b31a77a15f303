// Sockets and pipes of a job: their ends, which belong together, and what went through each.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"
#include "trace/streams.h"

namespace ddpscope::ordering {

// One end; all processes that were given its descriptor share it. Both ends of a pipe have one inode.
struct EndId {
  std::uint32_t host;
  std::uint64_t inode;
  auto operator<=>(const EndId&) const = default;
};

// Bytes that one call, or a run of calls with nothing in between, sent or received.
struct Transfer {
  Span call;
  std::uint64_t own_offset;  // in its process's own count
  std::uint64_t bytes;
  std::uint32_t count;  // of the run
  Node node = kNoNode;  // once it has one: a send releases there, a receive acquires
};

// What a client asks of a key-value store, one for each key.
struct StoreRequest {
  std::uint32_t process;
  std::uint64_t own_offset;  // of its message, as in Transfer
  trace::StoreOperation operation;
  std::string key;  // empty: none, or not told
};

// The opening of a pipe that has a name.
struct PipeOpening {
  Span call;
  bool receives, sends;
  bool waits;  // it returns when somebody opens, or has opened, the other direction
};

struct StreamEnd {
  std::vector<Transfer> sent, received;
  std::vector<StoreRequest> requests;  // of a store's client; by process and offset
  std::vector<Span> given_up;          // nothing more is sent from here on by this process; by time
  std::vector<Span> found_ended;       // receives that returned nothing because the other end was given up
  std::map<std::uint32_t, std::set<std::uint16_t>>
      holders;                      // processes with a record of it, and their threads
  std::vector<PipeOpening> opened;  // by time
  std::optional<EndId> peer;
  std::string connected_to;    // the listener's TCP address, with the host's number if it is the host's own
  Trust trust = Trust::kSeen;  // in the pairing
  bool reused = false;         // others had the same two addresses: the order in time tells whose peer it is
  bool made = false;           // its making was recorded
  std::optional<std::int64_t> paired_ns;  // when, if it is one of a pair or pipe
  bool accepted = false;                  // from a listening TCP socket
  bool datagrams = false;                 // each for itself, in any order
  bool of_store = false;                  // it, or its peer, asks something of a key-value store

  std::vector<const StoreRequest*> requests_in(const Transfer& message) const;
};

// A connection as its two calls tell of it.
struct Joint {
  Span connect, accept;
  std::optional<Span> listen;  // of the accepting process
  bool connected;              // connect itself returned success
};

struct StreamEnds {
  std::map<EndId, StreamEnd> ends;
  std::vector<Joint> joints;
};

// Ends of TCP are paired by their addresses, those of pairs and pipes by inode. A client of a Unix socket has
// no name: its end is paired in the order of accept, which is right unless two connect at once.
StreamEnds find_stream_ends(const model::Job& job);

// The first process of a rank that holds it.
std::optional<std::uint32_t> rank_process(const model::Job& job, const StreamEnd& end);

}  // namespace ddpscope::ordering
