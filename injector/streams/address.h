// Socket addresses as text: equal for both ends of a connection.
#pragma once
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::injector {

constexpr std::size_t kAddressText = 128;

// "10.0.0.1:29500", "[fe80:0:0:0:0:0:0:1]:29500", "unix:/path", "unix:@name"; an IPv4 address that is mapped
// into IPv6 reads as IPv4, because the other end may see it so. Returns the length; 0 for other families and
// no address.
std::size_t write_address(const sockaddr* address, socklen_t size, char (&out)[kAddressText]);

enum class End { kLocal, kPeer };

// Of a connected socket, from the kernel.
std::size_t write_address_of(int fd, End end, char (&out)[kAddressText]);

}  // namespace ddpscope::injector
