// Requests to a key-value store: a record for each key that one names.
#pragma once
#include <sys/types.h>

#include "injector/core/hook.h"
#include "injector/streams/stream_io.h"

namespace ddpscope::injector {

// A connection that is made now, from here: its first bytes will tell whether it leads to a store.
void expect_requests(StreamEnd& end);

// `bytes` at `data` were sent and are counted. Does not change errno.
void read_requests(StreamEnd& end, const void* data, std::size_t bytes);

// send(): what PyTorch's store client uses, and nothing else.
template <Call call, class RealCall>
inline ssize_t recorded_send(int fd, const void* data, int flags, RealCall real_call) {
  if (passes_by(descriptor(fd))) return real_call();
  SocketIo io = begin_socket_io(call, Direction::kWrite, fd, flags);
  ssize_t result = real_call();
  if (!io.end) return result;
  end_stream_io(io.record, *io.end, Direction::kWrite, result);
  if (result > 0 && io.end->may_ask.load(std::memory_order_relaxed)) [[unlikely]]
    read_requests(*io.end, data, static_cast<std::size_t>(result));
  return result;
}

}  // namespace ddpscope::injector
