// Connecting the ranks pairwise, and rounds of messages over these connections.
#include "standin/nccl/links.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

constexpr auto kGreetingTime = std::chrono::seconds(5);

struct Hello {
  Nonce nonce;
  std::int32_t rank;
  std::uint32_t channel;
};

void accept_one(const Seat& seat, std::array<Links, kChannels>& channels, int& missing,
                const Release& release) {
  Descriptor socket = accept_from(seat.listener, release);
  Hello hello;
  try {
    receive_all(socket, std::as_writable_bytes(std::span(&hello, 1)), release, Clock::now() + kGreetingTime);
  } catch (const Failure&) {
    return;  // not one of ours, or a rank that died: then its place stays empty, as when it never came
  }
  if (hello.nonce != seat.members[0].nonce || hello.channel >= kChannels) return;
  if (hello.rank <= seat.rank || hello.rank >= static_cast<int>(seat.members.size())) return;
  Descriptor& place = channels[hello.channel][static_cast<std::size_t>(hello.rank)];
  if (place.fd() >= 0) return;
  place = std::move(socket);
  --missing;
}

/// Adds what a call moved; false if the connection would block now.
bool add_moved(ssize_t bytes, int peer, std::size_t& moved) {
  if (bytes > 0) {
    moved += static_cast<std::size_t>(bytes);
    return true;
  }
  if (bytes < 0 && errno == EAGAIN) return false;
  if (bytes < 0 && errno == EINTR) return true;
  throw PeerLost{peer};
}

/// One leg under way: how far the signature and the payload have got in each direction.
class Progress {
 public:
  Progress(const Leg& leg, int fd, Answers& answers, const Signature& ours)
      : leg_(leg),
        fd_(fd),
        answers_(&answers),
        ours_(&ours),
        to_send_(leg.announce ? sizeof(Signature) + leg.out.size() : 0),
        to_receive_(leg.expect && !leg.runs_ahead ? sizeof(Signature) + leg.in.size() : 0) {
    if (leg.runs_ahead) answers_->expect(ours, leg.out.size());
  }

  bool done() const { return sent_ == to_send_ && !receives(); }
  bool joined() const { return to_receive_ == 0 || received_ >= sizeof(Signature); }

  pollfd wait() const {
    const int events = (sent_ < to_send_ ? POLLOUT : 0) | (receives() ? POLLIN : 0);
    return {fd_, static_cast<short>(events), 0};
  }

  void advance() {
    if (leg_.expect) {
      while (answers_->receive_some(fd_, leg_.peer)) {
      }
    }
    while (sent_ < to_send_ && send_some()) {
    }
    while (received_ < to_receive_ && answers_->none_missing() && receive_some()) {
    }
  }

 private:
  bool receives() const { return received_ < to_receive_ || (leg_.runs_ahead && !answers_->few_missing()); }

  bool send_some() {
    try {
      return send_rest(fd_, leg_.peer, std::as_bytes(std::span(ours_, 1)), leg_.out, sent_);
    } catch (const PeerLost&) {
      if (!leg_.peer_ran_ahead) throw;
      sent_ = to_send_;
      return false;
    }
  }

  bool receive_some() {
    if (received_ >= sizeof theirs_) {
      std::size_t payload = received_ - sizeof theirs_;
      const bool moved = receive_rest(fd_, leg_.peer, leg_.in, payload);
      received_ = sizeof theirs_ + payload;
      return moved;
    }
    if (!receive_rest(fd_, leg_.peer, std::as_writable_bytes(std::span(&theirs_, 1)), received_))
      return false;
    if (received_ == sizeof theirs_ && theirs_ != *ours_) throw Mismatch{leg_.peer, theirs_, *ours_};
    return true;
  }

  Leg leg_;
  int fd_;
  Answers* answers_;
  const Signature* ours_;
  std::size_t to_send_;
  std::size_t to_receive_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  Signature theirs_;
};

}  // namespace

std::array<Links, kChannels> connect_members(const Seat& seat, const Release& release) {
  const auto size = seat.members.size();
  const auto rank = static_cast<std::size_t>(seat.rank);
  std::array<Links, kChannels> channels;
  for (Links& links : channels) links.resize(size);
  for (std::size_t lower = 0; lower < rank; ++lower) {
    for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
      Descriptor& socket = channels[channel][lower] = connect_to(seat.members[lower].address, release);
      const Hello hello{seat.members[0].nonce, seat.rank, channel};
      send_all(socket, std::as_bytes(std::span(&hello, 1)), release);
    }
  }
  for (int missing = kChannels * static_cast<int>(size - rank - 1); missing > 0;) {
    accept_one(seat, channels, missing, release);
  }
  return channels;
}

bool send_rest(int fd, int peer, std::span<const std::byte> head, std::span<const std::byte> payload,
               std::size_t& moved) {
  const std::size_t of_head = std::min(moved, head.size());
  const auto part = [](std::span<const std::byte> bytes, std::size_t from) {
    return iovec{const_cast<std::byte*>(bytes.data() + from), bytes.size() - from};
  };
  iovec parts[] = {part(head, of_head), part(payload, moved - of_head)};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return add_moved(sendmsg(fd, &message, MSG_NOSIGNAL), peer, moved);
}

bool receive_rest(int fd, int peer, std::span<std::byte> into, std::size_t& moved) {
  const auto rest = into.subspan(moved);
  return add_moved(recv(fd, rest.data(), rest.size(), 0), peer, moved);
}

Clock::time_point exchange(const Links& links, std::span<Answers> answers, const Signature& signature,
                           std::span<const Leg> legs, const Release& release) {
  std::vector<Progress> open;
  open.reserve(legs.size());
  for (const Leg& leg : legs) {
    const auto peer = static_cast<std::size_t>(leg.peer);
    open.emplace_back(leg, links[peer].fd(), answers[peer], signature);
  }

  Clock::time_point joined = Clock::now();
  bool all_joined = false;
  std::vector<pollfd> waits;
  for (;;) {
    if (release.raised()) throw Released{};
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (waits.empty() || waits[i + 1].revents) open[i].advance();
    }
    if (!all_joined && std::ranges::all_of(open, &Progress::joined)) {
      all_joined = true;
      joined = Clock::now();
    }
    std::erase_if(open, [](const Progress& leg) { return leg.done(); });
    if (open.empty()) return joined;
    waits.assign(1, {release.fd(), POLLIN, 0});
    for (const Progress& leg : open) waits.push_back(leg.wait());
    poll(waits.data(), waits.size(), -1);
  }
}

}  // namespace ddpscope::standin::nccl
