// TCP sockets: non-blocking, so that every wait goes through one poll that an abort can end.
#include "standin/nccl/socket.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

[[noreturn]] void fail(const char* what) {
  throw Failure(ncclSystemError, std::string(what) + ": " + std::strerror(errno));
}

sockaddr* raw(Address& address) { return reinterpret_cast<sockaddr*>(&address.storage); }
const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

in_port_t& port_of(Address& address) {
  return address.storage.sin6_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address.storage).sin_port
                                                : address.storage.sin6_port;
}

/// Waits until `fd` is ready for `events`; the poll's timeout is in whole milliseconds, rounded up.
void wait_for(int fd, short events, const Release& release, Clock::time_point deadline) {
  pollfd waits[] = {{fd, events, 0}, {release.fd(), POLLIN, 0}};
  for (;;) {
    if (release.raised()) throw Released{};
    int timeout_ms = -1;
    if (deadline != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) throw Failure(ncclSystemError, "a peer connected and then said nothing");
      timeout_ms = static_cast<int>(left);
    }
    if (poll(waits, 2, timeout_ms) < 0 && errno != EINTR) fail("poll");
    if (waits[0].revents) return;
  }
}

bool interface_wanted(const std::string& name, const char* choice) {
  if (!choice || !*choice) return true;
  const bool exclude = *choice == '^';
  if (exclude) ++choice;
  const bool exact = *choice == '=';
  if (exact) ++choice;
  std::string rest = choice;
  bool listed = false;
  while (!rest.empty() && !listed) {
    const std::string item = rest.substr(0, rest.find(','));
    rest = item.size() == rest.size() ? "" : rest.substr(item.size() + 1);
    listed = !item.empty() && (exact ? name == item : name.starts_with(item));
  }
  return listed != exclude;
}

/// Lower is better: IPv4 before IPv6 (link-local addresses are none), a real interface before loopback.
int preference(const ifaddrs& interface) {
  if (!interface.ifa_addr || !(interface.ifa_flags & IFF_UP)) return 0;
  const int loopback = interface.ifa_flags & IFF_LOOPBACK ? 2 : 0;
  if (interface.ifa_addr->sa_family == AF_INET) return 1 + loopback;
  if (interface.ifa_addr->sa_family != AF_INET6) return 0;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
  return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? 0 : 2 + loopback;
}

void set_no_delay(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Address host_address() {
  const char* choice = std::getenv("NCCL_SOCKET_IFNAME");
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) fail("getifaddrs");
  Address best;
  int best_preference = 0;
  for (const ifaddrs* each = interfaces; each; each = each->ifa_next) {
    const int each_preference = preference(*each);
    if (!each_preference || !interface_wanted(each->ifa_name, choice)) continue;
    if (best_preference && best_preference <= each_preference) continue;
    best_preference = each_preference;
    best.length = each->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&best.storage, each->ifa_addr, best.length);
  }
  freeifaddrs(interfaces);
  if (!best_preference)
    throw Failure(ncclInvalidUsage, "no network interface is up that NCCL_SOCKET_IFNAME allows");
  return best;
}

Descriptor listen_at(Address& address) {
  port_of(address) = 0;
  Descriptor socket(::socket(address.storage.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(socket.fd(), raw(address), address.length) != 0) fail("bind");
  if (listen(socket.fd(), SOMAXCONN) != 0) fail("listen");
  if (getsockname(socket.fd(), raw(address), &address.length) != 0) fail("getsockname");
  return socket;
}

Descriptor connect_to(const Address& address, const Release& release) {
  Descriptor socket(::socket(address.storage.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.fd(), raw(address), address.length) != 0) {
    if (errno != EINPROGRESS) fail("connect");
    wait_for(socket.fd(), POLLOUT, release, Clock::time_point::max());
    socklen_t size = sizeof errno;
    int error = 0;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    // Whoever published the address listened before it did: a refusal means that it is gone.
    if (error)
      throw Failure(ncclRemoteError, std::string("cannot connect to a peer: ") + std::strerror(error));
  }
  set_no_delay(socket);
  return socket;
}

Descriptor accept_from(const Descriptor& listener, const Release& release) {
  for (;;) {
    wait_for(listener.fd(), POLLIN, release, Clock::time_point::max());
    const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      Descriptor socket(fd);
      set_no_delay(socket);
      return socket;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) fail("accept");
  }
}

Address local_address(const Descriptor& socket) {
  Address address;
  address.length = sizeof address.storage;
  if (getsockname(socket.fd(), raw(address), &address.length) != 0) fail("getsockname");
  return address;
}

void send_all(const Descriptor& socket, std::span<const std::byte> bytes, const Release& release) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      wait_for(socket.fd(), POLLOUT, release, Clock::time_point::max());
    } else if (errno != EINTR) {
      throw Failure(ncclRemoteError, std::string("a peer closed its connection: ") + std::strerror(errno));
    }
  }
}

void receive_all(const Descriptor& socket, std::span<std::byte> bytes, const Release& release,
                 Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    } else if (received < 0 && errno == EAGAIN) {
      wait_for(socket.fd(), POLLIN, release, deadline);
    } else if (received == 0 || errno != EINTR) {
      throw Failure(ncclRemoteError, "a peer closed its connection");
    }
  }
}

}  // namespace ddpscope::standin::nccl
