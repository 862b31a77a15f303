// sendfile, copy_file_range, splice.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "injector/files/transfer_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT ssize_t sendfile(int out, int in, off_t* offset, size_t bytes) {
  return recorded_transfer<Call::sendfile>(
      {in, offset}, {out, nullptr}, [&] { return real<Call::sendfile>(&sendfile)(out, in, offset, bytes); });
}

DDPSCOPE_EXPORT ssize_t sendfile64(int out, int in, off64_t* offset, size_t bytes) {
  return recorded_transfer<Call::sendfile64>({in, offset}, {out, nullptr}, [&] {
    return real<Call::sendfile64>(&sendfile64)(out, in, offset, bytes);
  });
}

DDPSCOPE_EXPORT ssize_t copy_file_range(int in, off64_t* in_offset, int out, off64_t* out_offset,
                                        size_t bytes, unsigned flags) {
  return recorded_transfer<Call::copy_file_range>({in, in_offset}, {out, out_offset}, [&] {
    return real<Call::copy_file_range>(&copy_file_range)(in, in_offset, out, out_offset, bytes, flags);
  });
}

DDPSCOPE_EXPORT ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t bytes,
                               unsigned flags) {
  return recorded_transfer<Call::splice>({in, in_offset}, {out, out_offset}, [&] {
    return real<Call::splice>(&splice)(in, in_offset, out, out_offset, bytes, flags);
  });
}
