// write and its kin.
#include <sys/uio.h>
#include <unistd.h>

#include "injector/files/io.h"
#include "injector/python/printed_traceback.h"

namespace ddpscope::injector {
namespace {

std::uint64_t place_of(off_t offset, int flags) {
  return flags & RWF_APPEND ? kUnknownOffset : place_or_here(offset);
}

iovec part(const void* buffer, size_t bytes) { return {const_cast<void*>(buffer), bytes}; }

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT ssize_t write(int fd, const void* buffer, size_t bytes) {
  iovec whole = part(buffer, bytes);
  return note_printed(fd, buffer, recorded_write<Call::write, Call::socket_write>(fd, kHere, &whole, 1, [&] {
                        return real<Call::write>(&write)(fd, buffer, bytes);
                      }));
}

DDPSCOPE_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  return recorded_write<Call::writev, Call::socket_writev>(
      fd, kHere, parts, count, [&] { return real<Call::writev>(&writev)(fd, parts, count); });
}

DDPSCOPE_EXPORT ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t offset) {
  iovec whole = part(buffer, bytes);
  return recorded_write<Call::pwrite, Call::socket_write>(
      fd, place(offset), &whole, 1, [&] { return real<Call::pwrite>(&pwrite)(fd, buffer, bytes, offset); });
}

DDPSCOPE_EXPORT ssize_t pwrite64(int fd, const void* buffer, size_t bytes, off64_t offset) {
  iovec whole = part(buffer, bytes);
  return recorded_write<Call::pwrite64, Call::socket_write>(fd, place(offset), &whole, 1, [&] {
    return real<Call::pwrite64>(&pwrite64)(fd, buffer, bytes, offset);
  });
}

DDPSCOPE_EXPORT ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return recorded_write<Call::pwritev, Call::socket_writev>(fd, place(offset), parts, count, [&] {
    return real<Call::pwritev>(&pwritev)(fd, parts, count, offset);
  });
}

DDPSCOPE_EXPORT ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return recorded_write<Call::pwritev64, Call::socket_writev>(fd, place(offset), parts, count, [&] {
    return real<Call::pwritev64>(&pwritev64)(fd, parts, count, offset);
  });
}

// With offset -1 these two write at the descriptor's own position, or at the end of the file, if they are
// told so.

DDPSCOPE_EXPORT ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return recorded_write<Call::pwritev2, Call::socket_writev>(fd, place_of(offset, flags), parts, count, [&] {
    return real<Call::pwritev2>(&pwritev2)(fd, parts, count, offset, flags);
  });
}

DDPSCOPE_EXPORT ssize_t pwritev64v2(int fd, const iovec* parts, int count, off64_t offset, int flags) {
  return recorded_write<Call::pwritev64v2, Call::socket_writev>(
      fd, place_of(offset, flags), parts, count,
      [&] { return real<Call::pwritev64v2>(&pwritev64v2)(fd, parts, count, offset, flags); });
}
