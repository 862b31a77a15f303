// Sockets and pipes come to be and are joined.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injector/streams/connection_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int socket(int family, int type, int protocol) {
  return recorded_socket<Call::socket>(family,
                                       [&] { return real<Call::socket>(&socket)(family, type, protocol); });
}

DDPSCOPE_EXPORT int socketpair(int family, int type, int protocol, int* ends) {
  return recorded_pair<Call::socketpair>(
      ends, family, [&] { return real<Call::socketpair>(&socketpair)(family, type, protocol, ends); });
}

DDPSCOPE_EXPORT int pipe(int* ends) {
  return recorded_pair<Call::pipe>(ends, 0, [&] { return real<Call::pipe>(&pipe)(ends); });
}

DDPSCOPE_EXPORT int pipe2(int* ends, int flags) {
  return recorded_pair<Call::pipe2>(ends, 0, [&] { return real<Call::pipe2>(&pipe2)(ends, flags); });
}

DDPSCOPE_EXPORT int connect(int fd, const sockaddr* peer, socklen_t size) {
  return recorded_connect<Call::connect>(fd, peer, size,
                                         [&] { return real<Call::connect>(&connect)(fd, peer, size); });
}

DDPSCOPE_EXPORT int accept(int fd, sockaddr* peer, socklen_t* size) {
  return recorded_accept<Call::accept>(fd, [&] { return real<Call::accept>(&accept)(fd, peer, size); });
}

DDPSCOPE_EXPORT int accept4(int fd, sockaddr* peer, socklen_t* size, int flags) {
  return recorded_accept<Call::accept4>(fd,
                                        [&] { return real<Call::accept4>(&accept4)(fd, peer, size, flags); });
}

DDPSCOPE_EXPORT int bind(int fd, const sockaddr* local, socklen_t size) {
  return recorded_offer<Call::bind>(fd, [&] { return real<Call::bind>(&bind)(fd, local, size); });
}

DDPSCOPE_EXPORT int shutdown(int fd, int how) {
  return recorded_shutdown<Call::shutdown>(fd, how, [&] { return real<Call::shutdown>(&shutdown)(fd, how); });
}

DDPSCOPE_EXPORT int listen(int fd, int backlog) {
  return recorded_offer<Call::listen>(fd, [&] { return real<Call::listen>(&listen)(fd, backlog); });
}
