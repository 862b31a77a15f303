// The connections of a communicator: one to every other rank, and the one way of using them in step.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "standin/nccl/answers.h"
#include "standin/nccl/rendezvous.h"
#include "standin/nccl/signature.h"

namespace ddpscope::standin::nccl {

/// Each channel has its own connections. Control calls (split, shrink) must work while an operation hangs;
/// collectives, messages and puts each have their own framing, which the others need not know.
enum Channel : std::uint32_t { kControl, kCollective, kPointToPoint, kOneSided, kChannels };

/// One connection to every other rank, by rank; the own entry is empty.
using Links = std::vector<Descriptor>;

/// Connects every pair of members once for each channel. Throws Failure, Released.
std::array<Links, kChannels> connect_members(const Seat& seat, const Release& release);

/// Send the rest of `head` followed by `payload`, of which `moved` bytes have gone; receive the rest of
/// `into`, of which `moved` bytes have come. Add what could be moved now; false if nothing could. Throw
/// PeerLost{peer}.
bool send_rest(int fd, int peer, std::span<const std::byte> head, std::span<const std::byte> payload,
               std::size_t& moved);
bool receive_rest(int fd, int peer, std::span<std::byte> into, std::size_t& moved);

/// One rank's share in a round with one peer.
struct Leg {
  int peer;
  bool announce = true;                 ///< send it our signature, followed by `out`
  bool expect = true;                   ///< wait for its signature, followed by `in`
  std::span<const std::byte> out = {};  ///< not empty only if announced
  std::span<std::byte> in = {};         ///< not empty only if expected
  bool runs_ahead = false;              ///< done before the peer has joined, as far as Answers allows
  bool peer_ran_ahead = false;  ///< it may have left since: its signature is here, ours may be refused
};

/// Sends and receives all legs at once and returns when the last expected signature came, that is when the
/// last peer had joined. `answers`: by rank, of the operations before. Throws PeerLost, Mismatch, Released.
Clock::time_point exchange(const Links& links, std::span<Answers> answers, const Signature& signature,
                           std::span<const Leg> legs, const Release& release);

/// Everyone's `mine`, by position in `ranks`, which must hold `rank` and be equal on all of them.
template <typename T>
std::vector<T> all_gather(const Links& links, std::span<const int> ranks, int rank,
                          const Signature& signature, const T& mine, const Release& release) {
  std::vector<T> all(ranks.size());
  std::vector<Leg> legs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank) {
      all[i] = mine;
    } else {
      legs.push_back({.peer = ranks[i],
                      .out = std::as_bytes(std::span(&mine, 1)),
                      .in = std::as_writable_bytes(std::span(&all[i], 1))});
    }
  }
  std::vector<Answers> none(links.size());
  exchange(links, none, signature, legs, release);
  return all;
}

}  // namespace ddpscope::standin::nccl
