// Streams of stdio: what goes through them belongs to their descriptor. The writes that libc makes from its
// buffers are not seen; what the guest hands over is, and the flush and close that make it visible.
#pragma once
#include <stdio.h>

#include "injector/files/descriptor_call.h"
#include "injector/files/io.h"
#include "injector/files/open_call.h"

namespace ddpscope::injector {

// -1 for streams in memory. Keeps errno.
inline int descriptor_of(FILE* stream) {
  if (!stream) return -1;
  int saved = errno;
  int fd = fileno_unlocked(stream);
  errno = saved;
  return fd;
}

template <Call call, class RealOpen>
inline FILE* recorded_stream_open(const char* path, const char* mode, RealOpen real_open) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileOpen>);
  OpenInProgress open = begin_open({call, AT_FDCWD, path, mode ? flags_of(mode) : 0, 0666});
  FILE* stream = real_open();
  end_open(open, descriptor_of(stream));
  return stream;
}

// The stream keeps its place in the guest, its descriptor may be another one afterwards.
template <Call call, class RealOpen>
inline FILE* recorded_stream_reopen(const char* path, const char* mode, FILE* stream, RealOpen real_open) {
  if (!path) return real_open();  // only the mode changes
  end_close(begin_close(Call::fclose, descriptor_of(stream)), 0);
  return recorded_stream_open<call>(path, mode, real_open);
}

// An open descriptor gets a stream.
void note_stream(Call call, int fd, const char* mode);

// Position after fseek and its kin; keeps errno.
std::uint64_t position_of(FILE* stream);

template <Call call, class RealCall>
inline int recorded_stream_seek(FILE* stream, off_t offset, int whence, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  Opening* appending = appending_opening(descriptor_of(stream));
  LookupInProgress look{};
  if (whence == SEEK_END) look = begin_size_look(descriptor_of(stream));
  if (appending) appending->moves.begin();
  int result = real_call();
  if (appending) appending->moves.end();
  if (look.attempt.record) {
    off_t end = static_cast<off_t>(position_of(stream));
    end_size_look(look, descriptor_of(stream), end - offset, result == 0 ? 0 : errno);
  }
  if (result == 0 && descriptor(descriptor_of(stream)).kind == DescriptorKind::kFile)
    note_seek(call, descriptor_of(stream), position_of(stream));
  return result;
}

// Items of `size` bytes: what counts is whole items.
template <Call call, class RealCall>
inline size_t recorded_stream_read(FILE* stream, size_t size, size_t count, RealCall real_call) {
  size_t items = 0;
  recorded_read<call, Call::socket_fread>(
      descriptor_of(stream), kHere,
      [&] {
        items = real_call();
        return static_cast<ssize_t>(items * size);
      },
      size && count);
  return items;
}

template <Call call, class RealCall>
inline size_t recorded_stream_write(FILE* stream, const void* data, size_t size, size_t count,
                                    RealCall real_call) {
  size_t items = 0;
  iovec part{const_cast<void*>(data), size * count};
  recorded_write<call, Call::socket_fwrite>(descriptor_of(stream), kHere, &part, 1, [&] {
    items = real_call();
    return static_cast<ssize_t>(items * size);
  });
  return items;
}

// A line: its end tells how long it is.
template <Call call, class RealCall>
inline char* recorded_line(FILE* stream, RealCall real_call) {
  char* line = nullptr;
  recorded_read<call, Call::socket_fread>(descriptor_of(stream), kHere, [&] {
    line = real_call();
    return line ? static_cast<ssize_t>(std::strlen(line)) : ssize_t{0};
  });
  return line;
}

// Text that libc formats: its length is the result, its bytes are not seen.
template <Call call, class RealCall>
inline int recorded_print_to(int fd, RealCall real_call) {
  return static_cast<int>(recorded_write<call, Call::socket_write>(fd, kHere, nullptr, 0, real_call));
}

template <Call call, class RealCall>
inline int recorded_print(FILE* stream, RealCall real_call) {
  return static_cast<int>(
      recorded_write<call, Call::socket_fwrite>(descriptor_of(stream), kHere, nullptr, 0, real_call));
}

// Calls that return something else than the bytes they write.
template <Call call, class RealCall>
inline int recorded_put(FILE* stream, const char* data, size_t size, RealCall real_call) {
  int result = 0;
  iovec part{const_cast<char*>(data), size};
  recorded_write<call, Call::socket_fwrite>(descriptor_of(stream), kHere, &part, 1, [&] {
    result = real_call();
    return result == EOF ? ssize_t{-1} : static_cast<ssize_t>(size);
  });
  return result;
}

}  // namespace ddpscope::injector
