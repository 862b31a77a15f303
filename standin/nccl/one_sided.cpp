// Puts travel as a frame and the bytes behind it; having arrived they are a signal.
#include "standin/nccl/one_sided.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>

#include "standin/nccl/failure.h"
#include "standin/nccl/log.h"

namespace ddpscope::standin::nccl {

OneSided::OneSided(Links links, int rank)
    : links_(std::move(links)), rank_(rank), signals_(links_.size()), lost_(links_.size()) {}

Window& OneSided::add_window(std::byte* buffer, std::vector<std::uint64_t> sizes, bool symmetric) {
  std::lock_guard lock(mutex_);
  const auto number = static_cast<std::uint32_t>(windows_.size());
  return windows_.emplace_back(Window{number, buffer, std::move(sizes), symmetric});
}

Window& OneSided::window(const void* handle) {
  std::lock_guard lock(mutex_);
  for (Window& window : windows_) {
    if (&window == handle && window.registered) return window;
  }
  throw Failure(ncclInvalidArgument, "not a window of this communicator");
}

const Window& OneSided::holder(const std::byte* from, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  for (const Window& window : windows_) {
    const std::uint64_t size = window.sizes[static_cast<std::size_t>(rank_)];
    const bool begins = from >= window.buffer && from < window.buffer + size;
    if (begins && bytes <= size - static_cast<std::uint64_t>(from - window.buffer) && window.symmetric &&
        window.registered)
      return window;
  }
  throw Failure(ncclInvalidArgument, "the local buffer is not in a valid symmetric window");
}

void OneSided::run(std::span<const OneSidedCall> calls, const Release& release) {
  for (const OneSidedCall& call : calls) {
    if (call.kind == OneSidedCall::kPut) put(call, release);
  }
  for (const OneSidedCall& call : calls) {
    if (call.kind != OneSidedCall::kWait) continue;
    const auto peer = static_cast<std::size_t>(call.peer);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return release.raised() || lost_[peer] || signals_[peer] >= call.signals; });
    if (release.raised()) throw Released{};
    if (signals_[peer] < call.signals) throw PeerLost{call.peer};
    signals_[peer] -= call.signals;
  }
}

void OneSided::put(const OneSidedCall& call, const Release& release) {
  const Frame frame{call.offset, call.bytes, call.window, 0};
  if (call.peer == rank_) {
    if (call.bytes) std::memcpy(place(rank_, frame), call.from, call.bytes);
    return arrived(rank_);
  }
  const Descriptor& socket = links_[static_cast<std::size_t>(call.peer)];
  try {
    send_all(socket, std::as_bytes(std::span(&frame, 1)), release);
    send_all(socket, {call.from, call.bytes}, release);
  } catch (const Failure&) {
    throw PeerLost{call.peer};
  }
}

void OneSided::arrived(int peer) {
  std::lock_guard lock(mutex_);
  ++signals_[static_cast<std::size_t>(peer)];
  changed_.notify_all();
}

void OneSided::start() {
  {
    std::lock_guard lock(mutex_);
    if (started_) return;
    started_ = true;
  }
  start_thread([self = shared_from_this()] { self->take_all(); });
}

void OneSided::take_all() {
  std::vector<pollfd> waits;
  for (const Descriptor& socket : links_) waits.push_back({socket.fd(), POLLIN, 0});  // -1: the own one
  waits.push_back({stop_.fd(), POLLIN, 0});
  while (!stop_.raised() && poll(waits.data(), waits.size(), -1) != 0) {
    for (int peer = 0; peer < static_cast<int>(links_.size()); ++peer) {
      pollfd& wait = waits[static_cast<std::size_t>(peer)];
      if (wait.revents && !take_from(peer)) wait.fd = -1;
    }
  }
}

bool OneSided::take_from(int peer) {
  const Descriptor& socket = links_[static_cast<std::size_t>(peer)];
  try {
    Frame frame;
    receive_all(socket, std::as_writable_bytes(std::span(&frame, 1)), stop_);
    if (frame.bytes) receive_all(socket, {place(peer, frame), frame.bytes}, stop_);
    arrived(peer);
    return true;
  } catch (const Failure& failure) {
    if (failure.result() != ncclRemoteError) warn(failure.what());
  } catch (const Released&) {
  }
  std::lock_guard lock(mutex_);
  lost_[static_cast<std::size_t>(peer)] = true;
  changed_.notify_all();
  return false;
}

// The sender has checked it against what this rank registered.
std::byte* OneSided::place(int peer, const Frame& frame) {
  std::lock_guard lock(mutex_);
  if (frame.window < windows_.size() && windows_[frame.window].registered)
    return windows_[frame.window].buffer + frame.offset;
  throw Failure(ncclInternalError,
                "rank " + std::to_string(peer) + " puts into a window that is deregistered");
}

void OneSided::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void OneSided::stop() {
  stop_.raise();
  for (const Descriptor& socket : links_) shutdown(socket.fd(), SHUT_RDWR);
}

}  // namespace ddpscope::standin::nccl
