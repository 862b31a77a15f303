// One-sided operations: windows into which peers write, and the signals by which they tell of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "standin/nccl/links.h"

namespace ddpscope::standin::nccl {

/// A buffer that each rank of a communicator registered in the same call; its handle is its address.
struct Window {
  std::uint32_t number;  ///< the same on all ranks
  std::byte* buffer;
  std::vector<std::uint64_t> sizes;  ///< bytes, by rank
  bool symmetric;                    ///< NCCL_WIN_COLL_SYMMETRIC: puts may start and end here
  bool registered = true;
};

/// One call. A signal is a put of no bytes.
struct OneSidedCall {
  enum Kind { kPut, kWait } kind;
  int peer;
  std::uint64_t signals = 0;  ///< to wait for
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t window = 0;
  std::uint64_t offset = 0;  ///< bytes, in the peer's window
};

/// The one-sided side of a communicator. What peers put arrives by a thread of its own, whatever this rank
/// does meanwhile; it starts with the first window, or the first wait for a signal.
class OneSided : public std::enable_shared_from_this<OneSided> {
 public:
  OneSided(Links links, int rank);

  Window& add_window(std::byte* buffer, std::vector<std::uint64_t> sizes, bool symmetric);
  /// Throws Failure (ncclInvalidArgument) for what is no window of this communicator, or no longer.
  Window& window(const void* handle);
  /// The symmetric window that holds all of these bytes of this rank. Throws Failure (ncclInvalidArgument).
  const Window& holder(const std::byte* from, std::uint64_t bytes);

  /// Puts first, then waits, as a group may hold both. Throw PeerLost, Released.
  void run(std::span<const OneSidedCall> calls, const Release& release);

  void start();  ///< what peers put is taken from now on
  void wake();   ///< a Release that run() was given is raised
  void stop();   ///< nothing is sent or taken any more, and the peers notice

 private:
  struct Frame {
    std::uint64_t offset, bytes;
    std::uint32_t window, unused;
  };

  void put(const OneSidedCall& call, const Release& release);
  void arrived(int peer);
  void take_all();
  bool take_from(int peer);
  std::byte* place(int peer, const Frame& frame);

  const Links links_;
  const int rank_;
  Release stop_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  bool started_ = false;
  std::deque<Window> windows_;          ///< by number; addresses stay
  std::vector<std::uint64_t> signals_;  ///< by peer: that came and were not waited for
  std::vector<bool> lost_;              ///< by peer
};

}  // namespace ddpscope::standin::nccl
