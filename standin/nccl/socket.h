// TCP: which address to publish, listening, connecting, and whole messages that an abort can interrupt.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <span>

#include "standin/nccl/process.h"

namespace ddpscope::standin::nccl {

using Clock = std::chrono::steady_clock;

/// An IPv4 or IPv6 address and port as the kernel lays it out; goes over the wire between hosts of one kind.
struct Address {
  sockaddr_in6 storage{};
  socklen_t length = 0;
};

/// The address at which this host can be reached: NCCL_SOCKET_IFNAME if set ("eth,ib" prefixes, "=eth0"
/// exact,
/// "^docker" all but), else the first interface that is up and not loopback, else loopback. The port means
/// nothing.
Address host_address();

/// Listens at `address` with a port of the kernel's choice, which it writes into it.
Descriptor listen_at(Address& address);

Descriptor connect_to(const Address& address, const Release& release);
Descriptor accept_from(const Descriptor& listener, const Release& release);
Address local_address(const Descriptor& socket);

/// Send or receive all bytes. Throw Failure (ncclRemoteError) when the peer closes, Failure (ncclSystemError)
/// at `deadline`, Released on release.
void send_all(const Descriptor& socket, std::span<const std::byte> bytes, const Release& release);
void receive_all(const Descriptor& socket, std::span<std::byte> bytes, const Release& release,
                 Clock::time_point deadline = Clock::time_point::max());

}  // namespace ddpscope::standin::nccl
