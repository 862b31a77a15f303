// Who is at the other end of a Unix socket.
#pragma once
#include <cstdint>

namespace ddpscope::injector {

// Inode of the socket that the one with this inode is connected to, from the kernel (sock_diag(7), 20 us); 0:
// it does not tell. Leaves errno.
std::uint64_t unix_peer_of(std::uint64_t inode);

}  // namespace ddpscope::injector
