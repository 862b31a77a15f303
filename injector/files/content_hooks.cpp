// ftruncate, fallocate, fsync, mmap and their kin.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injector/files/content_call.h"

namespace ddpscope::injector {
namespace {

FileCall new_size(off64_t size) { return {.next = place(size)}; }

FileCall allocation(int mode, off64_t offset, off64_t bytes) {
  return {place(offset), place(bytes), place(offset) + place(bytes), static_cast<std::uint32_t>(mode)};
}

// These return an error number and leave errno alone.
template <Call call, class RealCall>
int recorded_posix_call(int fd, const FileCall& what, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  trace::OpenRecord record = begin_file_call(call, fd, what);
  int error = real_call();
  end_file_call(record, error);
  return error;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int ftruncate(int fd, off_t size) {
  return recorded_file_call<Call::ftruncate>(fd, new_size(size),
                                             [&] { return real<Call::ftruncate>(&ftruncate)(fd, size); });
}

DDPSCOPE_EXPORT int ftruncate64(int fd, off64_t size) {
  return recorded_file_call<Call::ftruncate64>(
      fd, new_size(size), [&] { return real<Call::ftruncate64>(&ftruncate64)(fd, size); });
}

DDPSCOPE_EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return recorded_file_call<Call::fallocate>(fd, allocation(mode, offset, bytes), [&] {
    return real<Call::fallocate>(&fallocate)(fd, mode, offset, bytes);
  });
}

DDPSCOPE_EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t bytes) {
  return recorded_file_call<Call::fallocate64>(fd, allocation(mode, offset, bytes), [&] {
    return real<Call::fallocate64>(&fallocate64)(fd, mode, offset, bytes);
  });
}

DDPSCOPE_EXPORT int posix_fallocate(int fd, off_t offset, off_t bytes) {
  return recorded_posix_call<Call::posix_fallocate>(fd, allocation(0, offset, bytes), [&] {
    return real<Call::posix_fallocate>(&posix_fallocate)(fd, offset, bytes);
  });
}

DDPSCOPE_EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t bytes) {
  return recorded_posix_call<Call::posix_fallocate64>(fd, allocation(0, offset, bytes), [&] {
    return real<Call::posix_fallocate64>(&posix_fallocate64)(fd, offset, bytes);
  });
}

DDPSCOPE_EXPORT int fsync(int fd) {
  return recorded_file_call<Call::fsync>(fd, {}, [&] { return real<Call::fsync>(&fsync)(fd); });
}

DDPSCOPE_EXPORT int fdatasync(int fd) {
  return recorded_file_call<Call::fdatasync>(fd, {}, [&] { return real<Call::fdatasync>(&fdatasync)(fd); });
}

DDPSCOPE_EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return recorded_map<Call::mmap>(fd, bytes, protection, flags, offset, [&] {
    return real<Call::mmap>(&mmap)(address, bytes, protection, flags, fd, offset);
  });
}

DDPSCOPE_EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
  return recorded_map<Call::mmap64>(fd, bytes, protection, flags, offset, [&] {
    return real<Call::mmap64>(&mmap64)(address, bytes, protection, flags, fd, offset);
  });
}

DDPSCOPE_EXPORT int munmap(void* address, size_t bytes) {
  return recorded_mapping_call<Call::munmap>(address, bytes, Mapping::kEnds,
                                             [&] { return real<Call::munmap>(&munmap)(address, bytes); });
}

DDPSCOPE_EXPORT int msync(void* address, size_t bytes, int flags) {
  return recorded_mapping_call<Call::msync>(address, bytes, Mapping::kStays,
                                            [&] { return real<Call::msync>(&msync)(address, bytes, flags); });
}
