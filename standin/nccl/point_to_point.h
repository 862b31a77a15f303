// Sends and receives of one group: all posted before any is waited for.
#pragma once

#include <deque>

#include "standin/nccl/links.h"
#include "standin/nccl/profiler_events.h"

namespace ddpscope::standin::nccl {

struct Message {
  enum Direction { kSend, kReceive } direction;
  int peer;
  void* buffer;  ///< only read for a send
  std::size_t bytes;
  std::size_t count;  ///< elements of `datatype`, as the call gave them
  ncclDataType_t datatype;
  profiler::Asked asked{};
};

/// The point-to-point side of a communicator. A message leaves when its receiver has posted the matching
/// receive, whose size the sender compares: nothing is buffered, so a send without its receive always blocks.
/// (NCCL may let a small one through; its documentation says not to count on it.)
class PointToPoint {
 public:
  explicit PointToPoint(std::size_t size) : peers_(size) {}

  /// Runs all messages to their end, those of one peer and direction in their order, and returns when the
  /// last was matched. Messages to oneself come in pairs. Throws PeerLost, Mismatch, Released.
  Clock::time_point run(std::span<const Message> messages, const Links& links, int rank,
                        const Release& release);

 private:
  struct Frame {
    enum Type : std::uint64_t { kReady, kData } type;
    std::uint64_t bytes;
  };

  /// What must outlive one run: the other side may be a group ahead and have posted its next receives.
  struct Peer {
    std::deque<std::uint64_t> posted;  ///< sizes of its receives that no send of ours has met yet
    Frame arriving{};
    std::size_t arrived = 0;  ///< bytes of `arriving` that are here
  };

  class Traffic;
  std::vector<Peer> peers_;
};

/// Bytes that the link model charges: the larger of what goes out and what comes in, as a link is full
/// duplex.
std::size_t moved_bytes(std::span<const Message> messages, int rank);

}  // namespace ddpscope::standin::nccl
