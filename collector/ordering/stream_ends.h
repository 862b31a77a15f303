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
};

// A message that was received names this key of a store.
struct NamedKey {
  std::uint64_t own_offset;  // of the message, as in Transfer
  std::string key;
};

struct StreamEnd {
  std::vector<Transfer> sent, received;
  std::vector<NamedKey> keys;  // by offset
  std::optional<EndId> peer;
  Trust trust = Trust::kSeen;  // in the pairing
  bool accepted = false;       // from a listening TCP socket
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
  std::set<ThreadId> key_readers;  // threads whose recording tells the keys of what they receive
};

// Ends of TCP are paired by their addresses, those of pairs and pipes by inode. A client of a Unix socket has
// no name: its end is paired in the order of accept, which is right unless two connect at once.
StreamEnds find_stream_ends(const model::Job& job);

}  // namespace ddpscope::ordering
