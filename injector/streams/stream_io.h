// Bytes through sockets and pipes.
#pragma once
#include <sys/types.h>

#include "injector/core/hook.h"
#include "injector/files/io.h"
#include "trace/streams.h"

namespace ddpscope::injector {

// Makes `fd` one end of a byte stream, or a socket for datagrams, the one of this inode if another descriptor
// already is. No record: a connection's is written where it is made.
Descriptor meet_stream(int fd, std::uint64_t inode, bool is_pipe);

// Inode of an open descriptor, 0 if it has none: names the end.
std::uint64_t inode_of(int fd);

// A send or receive on `end`. `file` may be nullptr: the bytes are counted all the same.
trace::OpenRecord begin_stream_io(trace::FileWriter* file, Call call, Direction direction, int fd,
                                  StreamEnd& end);
void end_stream_io(const trace::OpenRecord& record, StreamEnd& end, Direction direction, ssize_t result);

// This process gives up directions (trace/streams.h) of a connection, or with its last descriptor the whole
// end: what it has done by then comes before the end that the other side will find.
void note_given_up(Call call, int fd, StreamEnd& stream, std::uint32_t directions);

// A call that can only be made on sockets. Without a record: inside a vendor's call, and for what leaves the
// stream as it is (MSG_PEEK, MSG_OOB, MSG_ERRQUEUE).
struct SocketIo {
  StreamEnd* end;
  trace::OpenRecord record;
};
SocketIo begin_socket_io(Call call, Direction direction, int fd, int flags);

template <Call call, Direction direction, class RealCall>
inline ssize_t recorded_socket_io(int fd, int flags, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::StreamIo>);
  if (passes_by(descriptor(fd))) return real_call();
  SocketIo io = begin_socket_io(call, direction, fd, flags);
  ssize_t result = real_call();
  if (io.end) end_stream_io(io.record, *io.end, direction, result);
  return result;
}

}  // namespace ddpscope::injector
