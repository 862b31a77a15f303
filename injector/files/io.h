// Reads and writes on descriptors: which are recorded, how runs of them become one record.
#pragma once
#include <sys/types.h>
#include <sys/uio.h>

#include <type_traits>

#include "injector/core/hook.h"
#include "injector/files/descriptors.h"

namespace ddpscope::injector {

enum class Direction : bool { kRead, kWrite };

constexpr std::uint64_t kHere = ~std::uint64_t{0} - 1;  // at the descriptor's own position

// A negative offset is the kernel's to refuse.
inline std::uint64_t place(off_t offset) {
  return offset < 0 ? kUnknownOffset : static_cast<std::uint64_t>(offset);
}
inline std::uint64_t place_or_here(off_t offset) { return offset == -1 ? kHere : place(offset); }

// What a read or write is, known before it.
struct IoRequest {
  Call call;
  Call stream_call;  // its row when the descriptor is a socket or pipe
  Direction direction;
  int fd;
  std::uint64_t offset = kHere;
};

// One read or write in progress.
struct Io {
  int fd;
  trace::OpenRecord record;
  Opening* opening;  // a file's
  StreamEnd* end;    // a socket's or pipe's
  bool event;        // an event's
  Direction direction;
  bool moves;     // the descriptor's position
  bool appends;   // at the end of the file, wherever that will be: `at` is not known
  bool tells;     // the position afterwards is where this write ended, if nobody else moved it
  bool numbered;  // `move` is set
  Moves::Move move;
  std::uint64_t at;
  // If the record is an earlier one: when that ended and (writes) this began, in ticks; what the run had come
  // to.
  std::uint64_t end_before, began;
  std::uint64_t next_before;
  bool at_end_before;
};

// Most descriptors of most processes: nothing to do but the call.
inline bool passes_by(Descriptor d) {
  if (d.kind == DescriptorKind::kIgnored || d.kind == DescriptorKind::kDirectory) return true;
  return d.kind == DescriptorKind::kUnknown && !recorder(Weight::kFollows);
}

// Neither changes errno. `result` is what the call returned, in bytes; -1: errno says why.
Io begin_io(const IoRequest& request);
void end_io(const Io& io, ssize_t result);

// The bytes that were written, for their digest; before end_io().
void digest_written(const Io& io, const iovec* parts, int count, ssize_t written);

// What came from a socket or pipe; keeps errno.
void look_into(const void* bytes, ssize_t size);

// The last descriptor of an opening is about to go.
void finish_io(Opening& opening);

// A read that asks for nothing gets nothing, and has not found the end of the file. `bytes`: where it puts
// them; nullptr where nobody looks into what comes that way.
template <Call call, Call stream_call, class RealCall>
inline ssize_t recorded_read(int fd, std::uint64_t offset, RealCall real_call, bool asks = true,
                             const void* bytes = nullptr) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileIo>);
  static_assert(std::is_same_v<PayloadOf<stream_call>, trace::payload::StreamIo>);
  if (!asks || passes_by(descriptor(fd))) return real_call();
  Io io = begin_io({call, stream_call, Direction::kRead, fd, offset});
  ssize_t result = real_call();
  end_io(io, result);
  if (bytes && io.end) look_into(bytes, result);
  return result;
}

template <Call call, Call stream_call, class RealCall>
inline ssize_t recorded_write(int fd, std::uint64_t offset, const iovec* parts, int count,
                              RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileIo>);
  static_assert(std::is_same_v<PayloadOf<stream_call>, trace::payload::StreamIo>);
  if (passes_by(descriptor(fd))) return real_call();
  Io io = begin_io({call, stream_call, Direction::kWrite, fd, offset});
  ssize_t result = real_call();
  digest_written(io, parts, count, result);
  end_io(io, result);
  return result;
}

}  // namespace ddpscope::injector
