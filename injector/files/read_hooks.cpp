// read and its kin.
#include <sys/uio.h>
#include <unistd.h>

#include "injector/files/io.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT ssize_t read(int fd, void* buffer, size_t bytes) {
  return recorded_read<Call::read, Call::socket_read>(
      fd, kHere, [&] { return real<Call::read>(&read)(fd, buffer, bytes); }, bytes != 0, buffer);
}

DDPSCOPE_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  return recorded_read<Call::readv, Call::socket_readv>(
      fd, kHere, [&] { return real<Call::readv>(&readv)(fd, parts, count); });
}

DDPSCOPE_EXPORT ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  return recorded_read<Call::pread, Call::socket_read>(
      fd, place(offset), [&] { return real<Call::pread>(&pread)(fd, buffer, bytes, offset); }, bytes != 0);
}

DDPSCOPE_EXPORT ssize_t pread64(int fd, void* buffer, size_t bytes, off64_t offset) {
  return recorded_read<Call::pread64, Call::socket_read>(
      fd, place(offset), [&] { return real<Call::pread64>(&pread64)(fd, buffer, bytes, offset); },
      bytes != 0);
}

DDPSCOPE_EXPORT ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  return recorded_read<Call::preadv, Call::socket_readv>(
      fd, place(offset), [&] { return real<Call::preadv>(&preadv)(fd, parts, count, offset); });
}

DDPSCOPE_EXPORT ssize_t preadv64(int fd, const iovec* parts, int count, off64_t offset) {
  return recorded_read<Call::preadv64, Call::socket_readv>(
      fd, place(offset), [&] { return real<Call::preadv64>(&preadv64)(fd, parts, count, offset); });
}

// With offset -1 these two read at the descriptor's own position.

DDPSCOPE_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return recorded_read<Call::preadv2, Call::socket_readv>(fd, place_or_here(offset), [&] {
    return real<Call::preadv2>(&preadv2)(fd, parts, count, offset, flags);
  });
}

DDPSCOPE_EXPORT ssize_t preadv64v2(int fd, const iovec* parts, int count, off64_t offset, int flags) {
  return recorded_read<Call::preadv64v2, Call::socket_readv>(fd, place_or_here(offset), [&] {
    return real<Call::preadv64v2>(&preadv64v2)(fd, parts, count, offset, flags);
  });
}

// What the compiler makes of reads when it checks for overflows.

extern "C" ssize_t __read_chk(int, void*, size_t, size_t);
extern "C" ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
extern "C" ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);

DDPSCOPE_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t bytes, size_t room) {
  return recorded_read<Call::__read_chk, Call::socket_read>(
      fd, kHere, [&] { return real<Call::__read_chk>(&__read_chk)(fd, buffer, bytes, room); }, bytes != 0,
      buffer);
}

DDPSCOPE_EXPORT ssize_t __pread_chk(int fd, void* buffer, size_t bytes, off_t offset, size_t room) {
  return recorded_read<Call::__pread_chk, Call::socket_read>(
      fd, place(offset),
      [&] { return real<Call::__pread_chk>(&__pread_chk)(fd, buffer, bytes, offset, room); }, bytes != 0);
}

DDPSCOPE_EXPORT ssize_t __pread64_chk(int fd, void* buffer, size_t bytes, off64_t offset, size_t room) {
  return recorded_read<Call::__pread64_chk, Call::socket_read>(
      fd, place(offset),
      [&] { return real<Call::__pread64_chk>(&__pread64_chk)(fd, buffer, bytes, offset, room); }, bytes != 0);
}
