// Records of connections. None changes errno.
#include "injector/streams/connection_call.h"

#include "injector/files/descriptors.h"
#include "injector/processes/generation.h"
#include "injector/streams/address.h"
#include "injector/streams/store_call.h"
#include "injector/streams/stream_io.h"
#include "injector/streams/unix_peer.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

std::uint32_t intern_address(trace::FileWriter& file, int fd, End end) {
  char text[kAddressText];
  std::size_t size = write_address_of(fd, end, text);
  return size ? this_thread.writer.intern(file, text, size) : 0;
}

std::uint32_t family_of(int fd) {
  int family = 0;
  socklen_t size = sizeof(family);
  trace::raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, trace::as_argument(&family),
                     trace::as_argument(&size));
  return static_cast<std::uint32_t>(family);
}

void leave_out(int fd) { set_descriptor(fd, {DescriptorKind::kIgnored, 0}); }

// The end that `fd` is; nullptr for what is no byte stream of the guest's own.
StreamEnd* stream_of(int fd, bool is_pipe) {
  if (in_vfork_child()) return nullptr;
  if (inside_vendor_call()) {
    leave_out(fd);
    return nullptr;
  }
  Descriptor d = descriptor(fd);
  if (d.kind == DescriptorKind::kUnknown) d = meet_stream(fd, inode_of(fd), is_pipe);
  return d.kind == DescriptorKind::kStream ? &stream_ends[d.index] : nullptr;
}

// A descriptor that was just made: what its number stood for before is over.
StreamEnd* new_stream(int fd, bool is_pipe) {
  if (!in_vfork_child()) forget_descriptor(fd);
  return stream_of(fd, is_pipe);
}

trace::payload::Connection connection(const StreamEnd& end, int fd, int family) {
  trace::payload::Connection payload{};
  payload.inode = end.inode;
  payload.fd = fd;
  payload.peer_fd = -1;
  payload.family = static_cast<std::uint32_t>(family);
  return payload;
}

// As own work only.
trace::OpenRecord open_connection(trace::FileWriter& file, Call call,
                                  const trace::payload::Connection& payload, std::uint64_t began) {
  return this_thread.writer.open_in(file, call, trace::Budget::kKept, &payload, sizeof(payload), began, 0);
}

}  // namespace

void note_socket(Call call, int fd, int family) {
  StreamEnd* end = new_stream(fd, false);
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(end ? file : nullptr);
  if (!work) return;
  std::uint64_t ticks = now(*file);
  trace::ThreadWriter::close(*file, open_connection(*file, call, connection(*end, fd, family), ticks), ticks);
}

void note_pair(Call call, const int (&ends)[2], int family) {
  bool is_pipe = family == 0;
  StreamEnd* first = new_stream(ends[0], is_pipe);
  StreamEnd* second = new_stream(ends[1], is_pipe);
  if (!first || !second) return;
  // Only who made a pair of sockets can tell which belong together; both ends of a pipe have one inode.
  trace::FileWriter* file = recorder(is_pipe ? Weight::kFollows : Weight::kOpens);
  OwnWork work(file);
  if (!work) return;
  trace::payload::Connection payload = connection(*first, ends[0], family);
  payload.peer_inode = second->inode;
  payload.peer_fd = ends[1];
  std::uint64_t ticks = now(*file);
  trace::ThreadWriter::close(*file, open_connection(*file, call, payload, ticks), ticks);
}

void note_offer(Call call, int fd, int result) {
  StreamEnd* end = stream_of(fd, false);
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(end ? file : nullptr);
  if (!work) return;
  trace::payload::Connection payload = connection(*end, fd, 0);
  payload.local = intern_address(*file, fd, End::kLocal);
  payload.error = result == 0 ? 0 : errno;
  std::uint64_t ticks = now(*file);
  trace::ThreadWriter::close(*file, open_connection(*file, call, payload, ticks), ticks);
}

void note_shutdown(Call call, int fd, int how) {
  std::uint32_t directions = how == SHUT_RD ? trace::kReceivingEnds : trace::kSendingEnds;
  if (how == SHUT_RDWR) directions |= trace::kReceivingEnds;
  Descriptor d = descriptor(fd);
  if (d.kind == DescriptorKind::kStream) note_given_up(call, fd, stream_ends[d.index], directions);
}

std::uint64_t ticks_before() {
  trace::FileWriter* file = open_recorder();
  return file ? now(*file) : 0;
}

void note_accepted(Call call, int listening, int fd, std::uint64_t began) {
  StreamEnd* end = new_stream(fd, false);
  trace::FileWriter* file = end ? recorder(Weight::kOpens) : nullptr;
  OwnWork work(file);
  if (!work) return;
  trace::payload::Connection payload = connection(*end, fd, 0);
  payload.peer_fd = listening;
  payload.local = intern_address(*file, fd, End::kLocal);
  payload.peer = intern_address(*file, fd, End::kPeer);
  payload.family = family_of(fd);
  // Its path may be relative to a folder that was left since, or be renamed; its client has no name at all.
  if (payload.family == AF_UNIX) payload.peer_inode = unix_peer_of(end->inode);
  std::uint64_t ticks = now(*file);
  trace::ThreadWriter::close(*file, open_connection(*file, call, payload, began ? began : ticks), ticks);
}

trace::OpenRecord begin_connect(Call call, int fd, const sockaddr* peer, socklen_t size) {
  StreamEnd* end = stream_of(fd, false);
  trace::FileWriter* file = end ? recorder(Weight::kOpens) : nullptr;
  OwnWork work(file);
  if (!work) return {};
  trace::payload::Connection payload = connection(*end, fd, peer ? peer->sa_family : 0);
  if (peer && !end->datagrams && (peer->sa_family == AF_INET || peer->sa_family == AF_INET6))
    expect_requests(*end);
  char text[kAddressText];
  if (std::size_t length = write_address(peer, size, text))
    payload.peer = this_thread.writer.intern(*file, text, length);
  return open_connection(*file, call, payload, now(*file));
}

void end_connect(const trace::OpenRecord& record, int fd, int result) {
  auto* payload = results_in<trace::payload::Connection>(record);
  if (!payload) return;
  payload->error = result == 0 ? 0 : errno;
  trace::FileWriter* file = open_recorder();
  // A connect that is still under way has its local address already.
  if (OwnWork work(file); work) payload->local = intern_address(*file, fd, End::kLocal);
  end(record);
}

}  // namespace ddpscope::injector
