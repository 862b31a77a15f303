// One state machine per peer: announce our receives, send what the peer has announced, take what comes.
#include "standin/nccl/point_to_point.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {

/// The messages of one run with one peer.
class PointToPoint::Traffic {
 public:
  Traffic(Peer& state, int peer, int fd) : state_(state), peer_(peer), fd_(fd) {}

  void post(const Message& message) {
    if (message.direction == Message::kSend) {
      sends_.push_back(message);
    } else {
      receives_.push_back(message);
      enqueue({Frame::kReady, message.bytes}, nullptr, 0);
    }
  }

  bool done() const { return sends_.empty() && receives_.empty() && out_.empty(); }

  pollfd wait() const {
    const int events = (out_.empty() ? 0 : POLLOUT) | (sends_.empty() && receives_.empty() ? 0 : POLLIN);
    return {fd_, static_cast<short>(events), 0};
  }

  /// Moves what can be moved now; `matched` becomes the time of the latest match.
  void advance(Clock::time_point& matched) {
    for (;;) {
      match_sends(matched);
      while (!out_.empty() && write_some()) {
      }
      if (sends_.empty() && receives_.empty()) return;
      if (!read_some(matched)) return;
    }
  }

 private:
  struct Chunk {
    Frame head;
    std::span<const std::byte> payload;
    std::size_t sent = 0;
  };

  void enqueue(Frame head, const void* payload, std::size_t bytes) {
    out_.push_back({head, {static_cast<const std::byte*>(payload), bytes}});
  }

  void match_sends(Clock::time_point& matched) {
    while (!sends_.empty() && !state_.posted.empty()) {
      const Message send = sends_.front();
      compare(send.bytes, state_.posted.front());
      sends_.pop_front();
      state_.posted.pop_front();
      matched = Clock::now();
      enqueue({Frame::kData, send.bytes}, send.buffer, send.bytes);
    }
  }

  void compare(std::uint64_t ours, std::uint64_t theirs) const {
    const auto message = [](std::uint64_t bytes) {
      return Signature{.kind = Kind::kPointToPoint, .count = bytes};
    };
    if (ours != theirs) throw Mismatch{peer_, message(theirs), message(ours)};
  }

  bool write_some() {
    Chunk& chunk = out_.front();
    const auto head = std::as_bytes(std::span(&chunk.head, 1));
    if (!send_rest(fd_, peer_, head, chunk.payload, chunk.sent)) return false;
    if (chunk.sent == head.size() + chunk.payload.size()) out_.pop_front();
    return true;
  }

  bool read_some(Clock::time_point& matched) {
    if (receiving_) return read_payload();
    const auto frame = std::as_writable_bytes(std::span(&state_.arriving, 1));
    if (!receive_rest(fd_, peer_, frame, state_.arrived)) return false;
    if (state_.arrived < sizeof(Frame)) return true;
    state_.arrived = 0;
    if (state_.arriving.type == Frame::kReady) {
      state_.posted.push_back(state_.arriving.bytes);
      return true;
    }
    compare(receives_.front().bytes, state_.arriving.bytes);
    matched = Clock::now();
    receiving_ = true;
    received_ = 0;
    return receives_.front().bytes == 0 ? finish_receive() : true;
  }

  bool read_payload() {
    const Message& message = receives_.front();
    if (!receive_rest(fd_, peer_, {static_cast<std::byte*>(message.buffer), message.bytes}, received_))
      return false;
    return received_ == message.bytes ? finish_receive() : true;
  }

  bool finish_receive() {
    receives_.pop_front();
    receiving_ = false;
    return true;
  }

  Peer& state_;
  int peer_;
  int fd_;
  std::deque<Message> sends_;     ///< not yet met by a receive
  std::deque<Message> receives_;  ///< not yet complete
  std::deque<Chunk> out_;
  bool receiving_ = false;  ///< the payload of receives_.front() is arriving
  std::size_t received_ = 0;
};

namespace {

/// The n-th send to oneself is what the n-th receive gets.
void copy_to_self(std::span<const Message> messages, int rank) {
  std::vector<Message> sends, receives;
  for (const Message& message : messages) {
    if (message.peer == rank) (message.direction == Message::kSend ? sends : receives).push_back(message);
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (sends[i].bytes) std::memmove(receives[i].buffer, sends[i].buffer, sends[i].bytes);
  }
}

}  // namespace

Clock::time_point PointToPoint::run(std::span<const Message> messages, const Links& links, int rank,
                                    const Release& release) {
  copy_to_self(messages, rank);
  std::vector<Traffic> open;
  for (int peer = 0; peer < static_cast<int>(links.size()); ++peer) {
    const auto with_peer = [peer](const Message& message) { return message.peer == peer; };
    if (peer == rank || std::ranges::none_of(messages, with_peer)) continue;
    const auto index = static_cast<std::size_t>(peer);
    Traffic& traffic = open.emplace_back(peers_[index], peer, links[index].fd());
    for (const Message& message : messages) {
      if (with_peer(message)) traffic.post(message);
    }
  }

  Clock::time_point matched = Clock::now();
  std::vector<Traffic*> active;
  for (Traffic& traffic : open) active.push_back(&traffic);
  std::vector<pollfd> waits;
  for (;;) {
    if (release.raised()) throw Released{};
    for (Traffic* traffic : active) traffic->advance(matched);
    std::erase_if(active, [](const Traffic* traffic) { return traffic->done(); });
    if (active.empty()) return matched;
    waits.assign(1, {release.fd(), POLLIN, 0});
    for (const Traffic* traffic : active) waits.push_back(traffic->wait());
    poll(waits.data(), waits.size(), -1);
  }
}

std::size_t moved_bytes(std::span<const Message> messages, int rank) {
  std::size_t bytes[2] = {0, 0};
  for (const Message& message : messages) {
    if (message.peer != rank) bytes[message.direction] += message.bytes;
  }
  return std::max(bytes[0], bytes[1]);
}

}  // namespace ddpscope::standin::nccl
