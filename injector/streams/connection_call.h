// Connections and pairs: who is joined to whom, once for each.
#pragma once
#include <sys/socket.h>

#include <type_traits>

#include "injector/core/hook.h"

namespace ddpscope::injector {

template <Call call>
constexpr bool kIsConnection = std::is_same_v<PayloadOf<call>, trace::payload::Connection>;

// A socket was made. Those that a vendor's library makes for itself are left out from here on.
void note_socket(Call call, int fd, int family);

// Both ends of a pair or pipe.
void note_pair(Call call, const int (&ends)[2], int family);

// bind and listen: an address is offered.
void note_offer(Call call, int fd, int result);

// A connection was taken from `listening`; `began` in ticks, 0 if nothing was recorded then.
void note_accepted(Call call, int listening, int fd, std::uint64_t began);
std::uint64_t ticks_before();

trace::OpenRecord begin_connect(Call call, int fd, const sockaddr* peer, socklen_t size);
void end_connect(const trace::OpenRecord& record, int fd, int result);

// Before the real call: the other side may see it at once.
void note_shutdown(Call call, int fd, int how);

template <Call call, class RealCall>
inline int recorded_shutdown(int fd, int how, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::StreamIo>);
  note_shutdown(call, fd, how);
  return real_call();
}

template <Call call, class RealCall>
inline int recorded_socket(int family, RealCall real_call) {
  static_assert(kIsConnection<call>);
  int fd = real_call();
  if (fd >= 0) note_socket(call, fd, family);
  return fd;
}

template <Call call, class RealCall>
inline int recorded_pair(int* ends, int family, RealCall real_call) {
  static_assert(kIsConnection<call>);
  int result = real_call();
  if (result == 0) note_pair(call, {ends[0], ends[1]}, family);
  return result;
}

template <Call call, class RealCall>
inline int recorded_offer(int fd, RealCall real_call) {
  static_assert(kIsConnection<call>);
  int result = real_call();
  note_offer(call, fd, result);
  return result;
}

template <Call call, class RealCall>
inline int recorded_accept(int listening, RealCall real_call) {
  static_assert(kIsConnection<call>);
  std::uint64_t began = ticks_before();
  int fd = real_call();
  if (fd >= 0) note_accepted(call, listening, fd, began);
  return fd;
}

template <Call call, class RealCall>
inline int recorded_connect(int fd, const sockaddr* peer, socklen_t size, RealCall real_call) {
  static_assert(kIsConnection<call>);
  trace::OpenRecord record = begin_connect(call, fd, peer, size);
  int result = real_call();
  end_connect(record, fd, result);
  return result;
}

}  // namespace ddpscope::injector
