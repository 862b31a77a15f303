// How far a root may be ahead of its receivers.
#pragma once

#include <cstddef>
#include <deque>

#include "standin/nccl/signature.h"

namespace ddpscope::standin::nccl {

/// Operations with one peer that are complete here although the peer has not joined them: what they sent fits
/// into the buffers between the two. Each peer's signature, which comes when it joins, is its answer.
class Answers {
 public:
  /// NCCL's buffer of one channel with the LL protocol: 8 steps, 256 KiB of data. With more channels and for
  /// larger messages (4 MiB with the Simple protocol) it can be ahead further, but no program may count on
  /// it.
  static constexpr std::size_t kOperations = 8;
  static constexpr std::size_t kBytes = 256 << 10;

  void expect(const Signature& ours, std::size_t bytes);
  bool none_missing() const { return missing_.empty(); }
  bool few_missing() const { return missing_.size() <= kOperations && bytes_ <= kBytes; }

  /// Takes what has come. False if nothing has, or none is missing. Throws PeerLost, Mismatch.
  bool receive_some(int fd, int peer);

 private:
  struct Missing {
    Signature ours;
    std::size_t bytes;
  };

  std::deque<Missing> missing_;
  std::size_t bytes_ = 0;  ///< of all that are missing
  Signature arriving_{};
  std::size_t arrived_ = 0;  ///< bytes of `arriving_` that are here
};

}  // namespace ddpscope::standin::nccl
