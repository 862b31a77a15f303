// Byte counts per end and direction; a run in one direction is one record.
#include "injector/streams/stream_io.h"

#include <sys/socket.h>

#include "injector/files/meet.h"
#include "injector/processes/generation.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

int socket_option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  long result = raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, option, as_argument(&value), as_argument(&size));
  return result == 0 ? value : -1;
}

// Messages to the kernel (netlink) go to no process.
bool is_between_processes(int fd) {
  int family = socket_option(fd, SO_DOMAIN);
  return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

// The end of this inode, with one reference more; kNone if there is none yet.
std::uint32_t find_end(std::uint64_t inode) {
  for (std::uint32_t i = 0; i < stream_ends.used(); ++i) {
    if (stream_ends[i].inode != inode || !stream_ends[i].references.load(std::memory_order_acquire)) continue;
    stream_ends.retain(i);
    return i;
  }
  return stream_ends.kNone;
}

std::uint32_t new_end(std::uint64_t inode) {
  std::uint32_t index = stream_ends.take();
  if (index == stream_ends.kNone) return index;
  StreamEnd& end = stream_ends[index];
  end.sent = end.received = 0;
  end.process = fork_generation();
  end.inode = inode;
  end.may_ask = false;
  end.datagrams = false;
  return index;
}

std::atomic<std::uint64_t>& bytes_so_far(StreamEnd& end, Direction direction) {
  return direction == Direction::kWrite ? end.sent : end.received;
}

// The parent goes on counting for itself: an analysis adds the counts of all processes that share an end.
void count_anew_after_fork(StreamEnd& end) {
  if (end.process == fork_generation()) return;
  end.process = fork_generation();
  end.sent = end.received = 0;
}

std::uint64_t fold_key(const StreamEnd& end, Direction direction) {
  return end.inode << 2 | 1 | (direction == Direction::kWrite ? 2 : 0);
}

}  // namespace

std::uint64_t inode_of(int fd) {
  struct stat state;
  return state_of(fd, &state) ? state.st_ino : 0;
}

Descriptor meet_stream(int fd, std::uint64_t inode, bool is_pipe) {
  Descriptor d{DescriptorKind::kIgnored, 0};
  int type = is_pipe ? SOCK_STREAM : socket_option(fd, SO_TYPE);
  bool datagrams = type == SOCK_DGRAM && is_between_processes(fd);
  if (type == SOCK_STREAM || type == SOCK_SEQPACKET || datagrams) {
    std::uint32_t index = find_end(inode);
    if (index == stream_ends.kNone) index = new_end(inode);
    if (index != stream_ends.kNone) {
      stream_ends[index].datagrams = datagrams;
      d = {DescriptorKind::kStream, index};
    }
  }
  set_descriptor(fd, d);
  return d;
}

trace::OpenRecord begin_stream_io(trace::FileWriter* file, Call call, Direction direction, int fd,
                                  StreamEnd& stream) {
  count_anew_after_fork(stream);
  if (inside_vendor_call()) return {};
  OwnWork work(file);
  if (!work) return {};
  trace::ThreadWriter& writer = this_thread.writer;
  std::uint64_t offset = bytes_so_far(stream, direction).load(std::memory_order_relaxed);
  trace::OpenRecord record = writer.reopen(*file, call, fold_key(stream, direction), trace::kLongestRun);
  if (record) {
    auto& run = record.payload<trace::payload::StreamIo>();
    if (run.offset + run.bytes == offset) return record;
    end(record);  // another thread's bytes lie between
  }
  trace::payload::StreamIo payload{};
  payload.inode = stream.inode;
  payload.offset = offset;
  payload.fd = fd;
  if (stream.datagrams) payload.flags = trace::kDatagrams;
  record = writer.open_in(*file, call, trace::Budget::kBulk, &payload, sizeof(payload), now(*file), 0);
  writer.set_fold_key(fold_key(stream, direction));
  return record;
}

void end_stream_io(const trace::OpenRecord& record, StreamEnd& stream, Direction direction, ssize_t result) {
  std::uint64_t bytes = result > 0 ? static_cast<std::uint64_t>(result) : 0;
  if (bytes) bytes_so_far(stream, direction).fetch_add(bytes, std::memory_order_relaxed);
  auto* payload = results_in<trace::payload::StreamIo>(record);
  if (!payload) return;
  ++payload->count;
  payload->bytes += bytes;
  if (result < 0) payload->error = errno;
  if (result == 0 && direction == Direction::kRead && !stream.datagrams)
    payload->flags |= trace::kStreamEnded;
  end(record);
}

void note_given_up(Call call, int fd, StreamEnd& stream, std::uint32_t directions) {
  if (inside_vendor_call() || stream.datagrams) return;
  count_anew_after_fork(stream);
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  trace::payload::StreamIo payload{};
  payload.inode = stream.inode;
  payload.offset = stream.sent.load(std::memory_order_relaxed);
  payload.fd = fd;
  payload.flags = directions;
  std::uint64_t ticks = now(*file);
  trace::OpenRecord record =
      this_thread.writer.open_in(*file, call, trace::Budget::kKept, &payload, sizeof(payload), ticks, 0);
  trace::ThreadWriter::close(*file, record, ticks);
}

SocketIo begin_socket_io(Call call, Direction direction, int fd, int flags) {
  if (flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)) return {};
  trace::FileWriter* file = recorder(Weight::kFollows);
  Descriptor d = descriptor(fd);
  if (d.kind == DescriptorKind::kUnknown) {
    OwnWork work(file);
    if (work) d = meet_descriptor(*file, fd);
  }
  if (d.kind != DescriptorKind::kStream) return {};
  StreamEnd& end = stream_ends[d.index];
  return {&end, begin_stream_io(file, call, direction, fd, end)};
}

}  // namespace ddpscope::injector
