// send, recv and their kin; read and write on sockets come through files/.
#include <sys/socket.h>

#include "injector/files/descriptors.h"
#include "injector/processes/generation.h"
#include "injector/streams/store_call.h"
#include "injector/streams/stream_io.h"

namespace ddpscope::injector {
namespace {

// Descriptors that came with a message are new: what their numbers stood for before is over.
void forget_passed_descriptors(msghdr* message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      forget_descriptor(fd);
    }
  }
}

// Descriptors may go along.
void note_sent(const msghdr* message) {
  if (reinterpret_cast<std::uintptr_t>(message) >= trace::kPageBytes && message->msg_controllen)
    note_descriptors_given();
}

ssize_t receive_message(int fd, msghdr* message, int flags, ssize_t (*real_call)(int, msghdr*, int)) {
  ssize_t result = real_call(fd, message, flags);
  if (result >= 0 && message->msg_control) forget_passed_descriptors(message);
  return result;
}

// Calls that take several messages return how many; the bytes are in the messages.
template <Call call, Direction direction, class RealCall>
int recorded_messages(int fd, const mmsghdr* messages, int flags, RealCall real_call) {
  int done = -1;
  recorded_socket_io<call, direction>(fd, flags, [&] {
    done = real_call();
    ssize_t bytes = done < 0 ? -1 : 0;
    for (int i = 0; i < done; ++i) bytes += messages[i].msg_len;
    return bytes;
  });
  return done;
}

constexpr Direction kOut = Direction::kWrite;
constexpr Direction kIn = Direction::kRead;

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  return recorded_send<Call::send>(fd, data, flags,
                                   [&] { return real<Call::send>(&send)(fd, data, bytes, flags); });
}

DDPSCOPE_EXPORT ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
                               socklen_t size) {
  return recorded_socket_io<Call::sendto, kOut>(
      fd, flags, [&] { return real<Call::sendto>(&sendto)(fd, data, bytes, flags, to, size); });
}

DDPSCOPE_EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  note_sent(message);
  return recorded_socket_io<Call::sendmsg, kOut>(
      fd, flags, [&] { return real<Call::sendmsg>(&sendmsg)(fd, message, flags); });
}

DDPSCOPE_EXPORT int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  for (unsigned i = 0; i < count; ++i) note_sent(&messages[i].msg_hdr);
  return recorded_messages<Call::sendmmsg, kOut>(
      fd, messages, flags, [&] { return real<Call::sendmmsg>(&sendmmsg)(fd, messages, count, flags); });
}

DDPSCOPE_EXPORT ssize_t recv(int fd, void* data, size_t bytes, int flags) {
  return recorded_socket_io<Call::recv, kIn>(fd, flags,
                                             [&] { return real<Call::recv>(&recv)(fd, data, bytes, flags); });
}

DDPSCOPE_EXPORT ssize_t recvfrom(int fd, void* data, size_t bytes, int flags, sockaddr* from,
                                 socklen_t* size) {
  return recorded_socket_io<Call::recvfrom, kIn>(
      fd, flags, [&] { return real<Call::recvfrom>(&recvfrom)(fd, data, bytes, flags, from, size); });
}

DDPSCOPE_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return recorded_socket_io<Call::recvmsg, kIn>(
      fd, flags, [&] { return receive_message(fd, message, flags, real<Call::recvmsg>(&recvmsg)); });
}

DDPSCOPE_EXPORT int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  return recorded_messages<Call::recvmmsg, kIn>(fd, messages, flags, [&] {
    return real<Call::recvmmsg>(&recvmmsg)(fd, messages, count, flags, timeout);
  });
}

// What the compiler makes of receives when it checks for overflows.

extern "C" ssize_t __recv_chk(int, void*, size_t, size_t, int);
extern "C" ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);

DDPSCOPE_EXPORT ssize_t __recv_chk(int fd, void* data, size_t bytes, size_t room, int flags) {
  return recorded_socket_io<Call::__recv_chk, kIn>(
      fd, flags, [&] { return real<Call::__recv_chk>(&__recv_chk)(fd, data, bytes, room, flags); });
}

DDPSCOPE_EXPORT ssize_t __recvfrom_chk(int fd, void* data, size_t bytes, size_t room, int flags,
                                       sockaddr* from, socklen_t* size) {
  return recorded_socket_io<Call::__recvfrom_chk, kIn>(fd, flags, [&] {
    return real<Call::__recvfrom_chk>(&__recvfrom_chk)(fd, data, bytes, room, flags, from, size);
  });
}
