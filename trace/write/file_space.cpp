// Reserves, maps and populates, by what is cheapest on the file system and leaves no page to a later fault.
#include "trace/write/file_space.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <algorithm>

#include "trace/write/raw_syscall.h"

namespace ddpscope::trace {
namespace {

bool failed(long result) { return result < 0 && result > -4096; }

void* map(std::size_t bytes, int flags, int fd, std::uint64_t offset) {
  long result = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, flags, fd,
                            static_cast<long>(offset));
  return failed(result) ? nullptr : reinterpret_cast<void*>(result);
}

// Writing beyond RLIMIT_FSIZE would send the guest SIGXFSZ.
bool within_size_limit(std::uint64_t end) {
  rlimit limit{};
  long result = raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, as_argument(&limit));
  return failed(result) || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

// Never written to: it takes no room in the library and no memory. Larger pieces gain nothing more, and want
// pages in blocks that lie untouched in free memory: a virtual machine has them still to fetch from its host.
char zeros[64 * 1024];

int write_zeros(int fd, std::uint64_t offset, std::size_t bytes) {
  while (bytes > 0) {
    long written = raw_syscall(SYS_pwrite64, fd, as_argument(zeros),
                               static_cast<long>(std::min(bytes, sizeof(zeros))), static_cast<long>(offset));
    if (written <= 0) return written ? static_cast<int>(-written) : ENOSPC;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

bool is_in_memory(int fd) {
  constexpr long kTmpfs = 0x01021994;  // TMPFS_MAGIC
  struct statfs system;
  return raw_syscall(SYS_fstatfs, fd, as_argument(&system)) == 0 && system.f_type == kTmpfs;
}

// What is written has its pages at once, many with one look at the file system's books; without that each
// page would be booked when it is populated, at five times the cost (ext4). A disk gives the blocks first, in
// one piece; where there is no fallocate, and in memory, the zeros are the reservation. 0, or the error.
int reserve(int fd, std::uint64_t offset, std::size_t bytes, bool in_memory) {
  if (!within_size_limit(offset + bytes)) return EFBIG;
  if (!in_memory) {
    long result = raw_syscall(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(bytes));
    if (result != 0 && result != -EOPNOTSUPP && result != -ENOSYS && result != -EPERM)  // EPERM: a filter's
      return static_cast<int>(-result);
  }
  return write_zeros(fd, offset, bytes);
}

// A full disk is the guest's too: what could be had of a piece is of no use to us.
void give_back(int fd, std::uint64_t offset, std::size_t bytes) {
  constexpr int kPunchHoleKeepSize = 3;  // FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
  raw_syscall(SYS_fallocate, fd, kPunchHoleKeepSize, static_cast<long>(offset), static_cast<long>(bytes));
}

enum class Access : int { kRead = 22, kWrite = 23 };  // MADV_POPULATE_READ, MADV_POPULATE_WRITE

// Kernels before 5.14 lack the advice: there each page is touched, which is safe because its blocks are
// reserved.
bool populate(char* address, std::size_t bytes, Access access) {
  long result =
      raw_syscall(SYS_madvise, as_argument(address), static_cast<long>(bytes), static_cast<int>(access));
  if (result == 0) return true;
  if (result != -EINVAL) return false;
  for (std::size_t at = 0; at < bytes; at += kPageBytes) {
    volatile char& byte = address[at];
    char content = byte;
    if (access == Access::kWrite) byte = content;
  }
  return true;
}

// A read of one page maps those around it that are in memory: in a kernel as it comes, sixteen from the last
// multiple of sixteen on or, if that lies before it, from the start of the mapping, but none beyond the 512
// that its page table holds. In a file on tmpfs, whose pages nobody writes back, what is mapped so may be
// written without another fault.
bool populate_by_windows(char* address, std::size_t bytes) {
  constexpr std::uintptr_t kWindow = 16 * kPageBytes, kTable = 512 * kPageBytes;
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (std::uintptr_t at = begin, end = begin + bytes; at < end;) {
    if (!populate(reinterpret_cast<char*>(at), kPageBytes, Access::kRead)) return false;
    std::uintptr_t window = at == begin ? at + kWindow : at + kWindow - at % kWindow;
    at = std::min(window, at + kTable - at % kTable);
  }
  return true;
}

long faults_of_this_thread() {
  rusage usage{};
  raw_syscall(SYS_getrusage, RUSAGE_THREAD, as_argument(&usage));
  return usage.ru_minflt + usage.ru_majflt;
}

// Whatever the windows left is populated here and counted.
bool populate_and_learn(char* address, std::size_t bytes, std::atomic<FaultAround>& fault_around) {
  if (!populate_by_windows(address, bytes)) return false;
  long before = faults_of_this_thread();
  if (!populate(address, bytes, Access::kWrite)) return false;
  bool many = faults_of_this_thread() == before;
  fault_around.store(many ? FaultAround::kManyPages : FaultAround::kOnePage, std::memory_order_relaxed);
  return true;
}

bool populate_in_memory(char* address, std::size_t bytes, std::atomic<FaultAround>& fault_around) {
  constexpr std::size_t kTelling = 32 * 1024;  // smaller pieces are one window
  switch (fault_around.load(std::memory_order_relaxed)) {
    case FaultAround::kManyPages:
      return populate_by_windows(address, bytes);
    case FaultAround::kUnknown:
      if (bytes >= kTelling) return populate_and_learn(address, bytes, fault_around);
      [[fallthrough]];
    case FaultAround::kOnePage:
      break;
  }
  return populate(address, bytes, Access::kWrite);
}

bool write_at(int fd, const void* bytes, std::size_t count, std::uint64_t offset) {
  return raw_syscall(SYS_pwrite64, fd, as_argument(bytes), static_cast<long>(count),
                     static_cast<long>(offset)) == static_cast<long>(count);
}

// At once, for who is killed in between leaves bytes that nobody can read; one after the other, the header
// last, where a filter (seccomp) refuses that.
bool write_header_and_rest(int fd, const ChunkHeader& header, const void* rest, std::uint64_t offset) {
  const std::size_t bytes = header.bytes - sizeof(header);
  const iovec parts[] = {{const_cast<ChunkHeader*>(&header), sizeof(header)},
                         {const_cast<void*>(rest), bytes}};
  long written = raw_syscall(SYS_pwritev, fd, as_argument(parts), 2, static_cast<long>(offset));
  if (written != -EPERM && written != -ENOSYS) return written == static_cast<long>(header.bytes);
  return write_at(fd, rest, bytes, offset + sizeof(header)) && write_at(fd, &header, sizeof(header), offset);
}

}  // namespace

void* map_private(std::size_t bytes) {
  return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void unmap(void* address, std::size_t bytes) {
  if (address) raw_syscall(SYS_munmap, as_argument(address), static_cast<long>(bytes));
}

bool write_copy(int fd, const ChunkHeader& chunk, std::uint64_t offset) {
  if (!within_size_limit(offset + chunk.bytes)) return false;
  ChunkHeader header = chunk;
  header.offset = offset;
  header.generation = 0;
  header.used = 0;
  bool written = write_header_and_rest(fd, header, &chunk + 1, offset) &&
                 write_at(fd, &chunk.used, sizeof(chunk.used), offset + offsetof(ChunkHeader, used));
  if (!written) give_back(fd, offset, chunk.bytes);
  return written;
}

void* map_new_space(int fd, std::uint64_t offset, std::size_t bytes, std::atomic<FaultAround>& fault_around,
                    int& error) {
  bool in_memory = is_in_memory(fd);
  error = reserve(fd, offset, bytes, in_memory);
  void* space = error ? nullptr : map(bytes, MAP_SHARED, fd, offset);
  auto* pages = static_cast<char*>(space);
  bool populated = pages && (in_memory ? populate_in_memory(pages, bytes, fault_around)
                                       : populate(pages, bytes, Access::kWrite));
  if (populated) return space;
  if (!error) error = ENOMEM;
  unmap(space, bytes);
  give_back(fd, offset, bytes);
  return nullptr;
}

void* map_written_space(int fd, std::uint64_t offset, std::size_t bytes) {
  void* space = map(bytes, MAP_SHARED, fd, offset);
  if (!space || populate(static_cast<char*>(space), bytes, Access::kWrite)) return space;
  unmap(space, bytes);
  return nullptr;
}

}  // namespace ddpscope::trace
