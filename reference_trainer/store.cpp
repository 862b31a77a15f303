// Hands small values, NCCL's unique ids first of all, from rank 0 to all other ranks over TCP.
#include "store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"

namespace reference_trainer {
namespace {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(descriptor_); }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < 0) {
    throw std::invalid_argument(fmt::format("{}={} is not a number", name, text));
  }
  return value;
}

sockaddr_in resolve(const std::string& address, uint16_t port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(address.c_str(), nullptr, &hints, &found); error != 0) {
    throw std::runtime_error(fmt::format("MASTER_ADDR {}: {}", address, gai_strerror(error)));
  }
  sockaddr_in result;
  std::memcpy(&result, found->ai_addr, sizeof result);
  freeaddrinfo(found);
  result.sin_port = htons(port);
  return result;
}

Listener listen_for_peers(const Place& place) {
  const char* const inherited = std::getenv(kListenerVariable);
  return inherited ? Listener(std::atoi(inherited)) : Listener("0.0.0.0", place.master_port);
}

void serve(const Place& place, const Listener& listener, std::span<const char> value,
           Clock::time_point deadline) {
  for (int peer = 1; peer < place.world_size; ++peer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready = {listener.descriptor(), POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      throw std::runtime_error(fmt::format("only {} of {} ranks came", peer, place.world_size));
    }
    const Socket connection(check_system(accept(listener.descriptor(), nullptr, nullptr), "accept"));
    check_system(send(connection.get(), value.data(), value.size(), MSG_NOSIGNAL), "send to a rank");
  }
}

void fetch(const Place& place, std::span<char> value, Clock::time_point deadline) {
  const sockaddr_in address = resolve(place.master_address, place.master_port);
  while (Clock::now() < deadline) {
    const Socket connection(check_system(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const ssize_t got = recv(connection.get(), value.data(), value.size(), MSG_WAITALL);
      if (got == static_cast<ssize_t>(value.size())) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error(
      fmt::format("rank 0 does not answer at {}:{}", place.master_address, place.master_port));
}

}  // namespace

Listener::Listener(const std::string& address, uint16_t port)
    : descriptor_(check_system(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
  const int on = 1;
  setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in local = resolve(address, port);
  check_system(bind(descriptor_, reinterpret_cast<const sockaddr*>(&local), sizeof local),
               fmt::format("cannot listen on {}:{}", address, port));
  check_system(listen(descriptor_, SOMAXCONN), "listen");
}

Listener::~Listener() {
  if (descriptor_ >= 0) close(descriptor_);
}

uint16_t Listener::port() const {
  sockaddr_in local = {};
  socklen_t size = sizeof local;
  check_system(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&local), &size), "getsockname");
  return ntohs(local.sin_port);
}

int Listener::hand_over() const { return check_system(dup(descriptor_), "dup"); }

Place place_from_environment(int rank) {
  Place place;
  place.rank = rank >= 0 ? rank : number_from_environment("RANK", place.rank);
  place.world_size = number_from_environment("WORLD_SIZE", place.world_size);
  place.local_rank = number_from_environment("LOCAL_RANK", place.rank);
  place.local_world_size = number_from_environment("LOCAL_WORLD_SIZE", place.world_size);
  if (const char* address = std::getenv("MASTER_ADDR")) place.master_address = address;
  place.master_port = static_cast<uint16_t>(number_from_environment("MASTER_PORT", place.master_port));
  // torchrun's agent listens on MASTER_PORT itself.
  if (std::getenv("TORCHELASTIC_USE_AGENT_STORE")) ++place.master_port;
  if (place.rank >= place.world_size) {
    throw std::invalid_argument(
        fmt::format("rank {} is not below WORLD_SIZE={}", place.rank, place.world_size));
  }
  return place;
}

Store::Store(const Place& place, std::chrono::milliseconds timeout) : place_(place), timeout_(timeout) {
  if (place.rank == 0 && place.world_size > 1) listener_.emplace(listen_for_peers(place));
}

void Store::share(std::span<char> value) {
  const auto deadline = Clock::now() + timeout_;
  if (place_.rank > 0) return fetch(place_, value, deadline);
  if (listener_) serve(place_, *listener_, value, deadline);
}

}  // namespace reference_trainer
