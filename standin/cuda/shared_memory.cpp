// The file behind shareable device memory. System calls are made without the C library's functions, which a
// tracer may record as the program's.
#include "standin/cuda/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace ddpscope::standin {
namespace {

// Ranges are never used twice, and the file is as long as it will get from the start: it takes room where it
// is touched.
constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 46;
constexpr int kLeastDescriptor = 200;  // programs count on low numbers being theirs

struct File {
  int descriptor = -1;
  ino_t inode = 0;
  std::atomic<std::uint64_t> next{0};

  File() {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
      return;  // a signal would come
    const auto made = static_cast<int>(syscall(SYS_memfd_create, "cuda stand-in", MFD_CLOEXEC));
    if (made < 0) return;
    descriptor = static_cast<int>(syscall(SYS_fcntl, made, F_DUPFD_CLOEXEC, kLeastDescriptor));
    if (descriptor < 0)
      descriptor = made;
    else
      syscall(SYS_close, made);
    struct stat about {};
    if (syscall(SYS_ftruncate, descriptor, kFileBytes) == 0 && syscall(SYS_fstat, descriptor, &about) == 0) {
      inode = about.st_ino;
    } else {
      syscall(SYS_close, descriptor);
      descriptor = -1;
    }
  }

  // A program that closes all descriptors may have another file there.
  bool usable() const {
    struct stat about {};
    return descriptor >= 0 && syscall(SYS_fstat, descriptor, &about) == 0 && about.st_ino == inode &&
           about.st_size == static_cast<off_t>(kFileBytes);
  }
};

File& file() {
  static auto* const instance = new File;
  return *instance;
}

std::uint64_t in_pages(std::uint64_t bytes) {
  static const auto kPage = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + kPage - 1) / kPage * kPage;
}

void* map(void* address, std::size_t bytes, int protection, int flags, int descriptor, std::uint64_t offset) {
  const long mapped =
      syscall(SYS_mmap, address, bytes, protection, flags | MAP_NORESERVE, descriptor, offset);
  return mapped == -1 ? nullptr : reinterpret_cast<void*>(mapped);
}

void* map_at(int descriptor, std::uint64_t offset, std::size_t bytes) {
  return map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset);
}

void unmap(void* memory, std::size_t bytes) { syscall(SYS_munmap, memory, bytes); }

// What `use` makes of the descriptor of the range's file; null where that is gone or not to be had.
template <class Use>
void* with_foreign_file(const SharedRange& range, Use&& use) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", range.process, range.descriptor);
  const auto descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
  if (descriptor < 0) return nullptr;
  struct stat about {};
  const bool is_it = syscall(SYS_fstat, descriptor, &about) == 0 && about.st_ino == range.inode &&
                     about.st_size == static_cast<off_t>(kFileBytes);
  void* memory = is_it ? use(descriptor) : nullptr;
  syscall(SYS_close, descriptor);
  return memory;
}

}  // namespace

std::optional<std::uint64_t> find_room(std::size_t bytes) {
  if (!file().usable()) return std::nullopt;
  return file().next.fetch_add(in_pages(bytes));
}

void give_room_back(std::uint64_t offset, std::size_t bytes) {
  if (file().usable())
    syscall(SYS_fallocate, file().descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
            in_pages(bytes));
}

void* map_shareable(std::size_t bytes, std::uint64_t& offset) {
  const auto room = find_room(bytes);
  if (!room) return nullptr;
  offset = *room;
  return map_at(file().descriptor, offset, bytes);
}

void unmap_shareable(void* memory, std::size_t bytes, std::uint64_t offset) {
  unmap(memory, bytes);
  give_room_back(offset, bytes);
}

void* reserve_addresses(void* wanted, std::size_t bytes) {
  return map(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void reserve_addresses_at(void* address, std::size_t bytes) {
  map(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void give_addresses_back(void* address, std::size_t bytes) { unmap(address, bytes); }

SharedRange share(std::uint64_t offset, std::size_t bytes) {
  return {getpid(), file().descriptor, file().inode, offset, bytes};
}

void* map_foreign(const SharedRange& range) {
  return with_foreign_file(range,
                           [&](int descriptor) { return map_at(descriptor, range.offset, range.bytes); });
}

bool map_range_at(void* address, std::size_t bytes, const SharedRange& range, bool own) {
  auto map_it = [&](int descriptor) {
    return map(address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, descriptor, range.offset);
  };
  if (own) return file().usable() && map_it(file().descriptor);
  return with_foreign_file(range, map_it);
}

void unmap_foreign(void* memory, std::size_t bytes) { unmap(memory, bytes); }

}  // namespace ddpscope::standin
