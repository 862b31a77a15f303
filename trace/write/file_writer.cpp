// Opens the file and its chunks with raw system calls; hands the bulk budget round as a ring.
#include "trace/write/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "trace/device_work.h"
#include "trace/write/lost_pages.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint32_t kKnownSlots =
    1u << 17;  // strings and stacks a process can tell apart: three quarters of it
constexpr int kMaxProbes = 64;

bool failed(long result) { return result < 0 && result > -4096; }

char* append(char* out, const char* end, const char* text) {
  while (*text && out < end) *out++ = *text++;
  return out;
}

char* append(char* out, const char* end, std::uint64_t number) {
  char digits[24];
  char* first = digits + sizeof(digits);
  *--first = 0;
  do *--first = static_cast<char>('0' + number % 10);
  while (number /= 10);
  return append(out, end, first);
}

// A host may have any name; a file may not.
char* append_host(char* out, const char* end, const char* host) {
  for (; *host && out < end; ++host) *out++ = *host == '/' ? '_' : *host;
  return out;
}

// DIRECTORY/HOST.PID.START[.ATTEMPT].ddps; false if it is too long for a path.
bool make_path(char* path, const char* directory, const Identity& identity, unsigned attempt,
               const char* suffix) {
  const char* end = path + kMaxPath - 1;
  char* out = append(path, end, directory);
  out = append(out, end, "/");
  out = append_host(out, end, identity.host);
  out = append(out, end, ".");
  out = append(out, end, static_cast<std::uint64_t>(identity.pid));
  out = append(out, end, ".");
  out = append(out, end, identity.start_time);
  if (attempt) out = append(append(out, end, "."), end, static_cast<std::uint64_t>(attempt));
  out = append(out, end, suffix);
  *out = 0;
  return out < end;
}

bool has_open_record(const ChunkHeader* chunk) {
  return __atomic_load_n(&chunk->open, __ATOMIC_ACQUIRE) != 0;
}

constexpr char kUnfinishedSuffix[] = ".part";

// The first name that is free, of the file until its header is whole, and then. Who holds UNFINISHED alone
// may make FINISHED: processes of two containers may have one host name, pid and start.
long create_file(char* unfinished, char* finished, const char* directory, const Identity& identity) {
  long fd = -EEXIST;
  for (unsigned attempt = 0; fd == -EEXIST && attempt < 100; ++attempt) {
    if (!make_path(unfinished, directory, identity, attempt, kUnfinishedSuffix) ||
        !make_path(finished, directory, identity, attempt, kFileSuffix))
      return -ENAMETOOLONG;
    fd = raw_syscall(SYS_openat, AT_FDCWD, as_argument(unfinished),
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (failed(fd) || failed(raw_syscall(SYS_faccessat, AT_FDCWD, as_argument(finished), F_OK))) continue;
    raw_syscall(SYS_unlinkat, AT_FDCWD, as_argument(unfinished), 0);
    raw_syscall(SYS_close, fd);
    fd = -EEXIST;
  }
  return fd;
}

// Whoever is killed before leaves nothing that a reader would take for a trace. No link: to FUSE that may be
// another file, of which other processes would not see what this one has mapped.
// 0, or the error.
int publish_file(const char* unfinished, const char* finished) {
  long result = raw_syscall(SYS_renameat, AT_FDCWD, as_argument(unfinished), AT_FDCWD, as_argument(finished));
  return failed(result) ? static_cast<int>(-result) : 0;
}

}  // namespace

void mark_unrecorded(const char* directory, const Identity& identity, int error, const char* run) {
  char path[kMaxPath], suffix[64 + sizeof(kUnrecordedSuffix)];
  char* const end = suffix + 63;
  char* out = append(append(suffix, end, "."), end, static_cast<std::uint64_t>(error));
  out = append(append(out, end, "."), end, run);
  strcpy(out, kUnrecordedSuffix);
  if (make_path(path, directory, identity, 0, suffix))
    raw_syscall(SYS_mkdirat, AT_FDCWD, as_argument(path), 0700);
}

bool FileWriter::open(const char* directory, const Identity& identity, const Clock& clock,
                      std::uint64_t ring_bytes, bool check_pid) {
  raw_syscall(SYS_mkdirat, AT_FDCWD, as_argument(directory), 0700);
  char unfinished[kMaxPath];
  long fd = create_file(unfinished, path_, directory, identity);
  if (failed(fd)) {
    refusal_ = static_cast<int>(-fd);
    return false;
  }
  refusal_ = 0;
  fault_around_ = FaultAround::kUnknown;
  void* page = map_new_space(static_cast<int>(fd), 0, kHeaderBytes, fault_around_, refusal_);
  bulk_slots_ = static_cast<std::uint32_t>(ring_bytes / kPageBytes) + 1;
  known_ = static_cast<Known*>(map_private(kKnownSlots * sizeof(Known)));
  bulk_ = static_cast<BulkSlot*>(map_private(bulk_slots_ * sizeof(BulkSlot)));
  if (!page || !known_ || !bulk_) {
    if (page) refusal_ = ENOMEM;
    unmap(page, kHeaderBytes);
    unmap(known_, kKnownSlots * sizeof(Known));
    unmap(bulk_, bulk_slots_ * sizeof(BulkSlot));
    raw_syscall(SYS_close, fd);
    raw_syscall(SYS_unlinkat, AT_FDCWD, as_argument(unfinished), 0);
    return false;
  }
  forget_lost_pages();
  clock_ = clock;
  check_pid_ = check_pid;
  bulk_used_ = 0;
  marking_clock_ = false;
  failures_ = 0;
  requests_off_ = 0;
  header_ = static_cast<FileHeader*>(page);
  write_header(identity, ring_bytes);
  unmap(page, kHeaderBytes);  // Valgrind 3.19 dies where a file is renamed while it is mapped
  refusal_ = publish_file(unfinished, path_);
  page = refusal_ ? nullptr : map_written_space(static_cast<int>(fd), 0, kHeaderBytes);
  raw_syscall(SYS_close, fd);
  if (page) {
    note_mapped_part(page, kHeaderBytes, false);
    header_ = static_cast<FileHeader*>(page);
    return true;
  }
  raw_syscall(SYS_unlinkat, AT_FDCWD, as_argument(refusal_ ? unfinished : path_), 0);
  if (!refusal_) refusal_ = ENOMEM;
  abandon();
  return false;
}

void FileWriter::write_header(const Identity& identity, std::uint64_t ring_bytes) {
  FileHeader& h = *header_;
  h.version = kVersion;
  h.header_bytes = kHeaderBytes;
  h.record_bytes = sizeof(Record);
  h.clock = clock_.kind;
  h.tick_hz = clock_.tick_hz;
  h.host_id = identity.host_id;
  std::memcpy(h.host, identity.host, sizeof(h.host));
  h.pid = identity.pid;
  h.parent_pid = identity.parent_pid;
  h.start_time = identity.start_time;
  h.parent_start_time = identity.parent_start_time;
  h.pid_namespace = identity.pid_namespace;
  h.opened = h.latest = clock_.now();
  h.ring_bytes = ring_bytes;
  h.file_bytes = h.content_bytes = kHeaderBytes;
  __atomic_signal_fence(__ATOMIC_RELEASE);
  std::memcpy(h.magic, kMagic, sizeof(kMagic));  // last: a header without it is one that was never finished
}

void FileWriter::abandon() {
  header_ = nullptr;
  known_ = nullptr;
  bulk_ = nullptr;
  ++epoch_;
}

std::uint16_t FileWriter::next_thread() {
  std::uint32_t number = __atomic_add_fetch(&header_->threads, 1, __ATOMIC_RELAXED);
  if (number <= 0xFFFF) return static_cast<std::uint16_t>(number);
  count(Health::threads_lost);
  return 0;
}

void FileWriter::mark_clock() { mark_clock_now(); }

// A tuple that two threads write at once would be neither's: whoever comes second leaves it.
ClockTuple FileWriter::mark_clock_now() {
  ClockTuple tuple = clock_.now();
  if (marking_clock_.exchange(true, std::memory_order_acquire)) return tuple;
  header_->latest = tuple;
  marking_clock_.store(false, std::memory_order_release);
  return tuple;
}

void FileWriter::note_content(std::uint64_t end) {
  std::uint64_t known = __atomic_load_n(&header_->content_bytes, __ATOMIC_RELAXED);
  while (known < end && !__atomic_compare_exchange_n(&header_->content_bytes, &known, end, true,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// On a full disk a guest must not pay some system calls for every record: after the n-th failure in a row the
// next 2^n requests are refused at once.
bool FileWriter::holds_off() {
  if (requests_off_.load(std::memory_order_relaxed) <= 0) return false;
  return requests_off_.fetch_sub(1, std::memory_order_relaxed) > 0;
}

void FileWriter::hold_off() {
  constexpr std::uint32_t kMaxDoublings = 16;
  count(Health::chunk_open_failed);
  std::uint32_t failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
  requests_off_.store(1 << (failures < kMaxDoublings ? failures : kMaxDoublings), std::memory_order_relaxed);
}

template <class Use>
bool FileWriter::in_new_part(std::uint32_t bytes, Use&& use) {
  long fd = raw_syscall(SYS_openat, AT_FDCWD, as_argument(path_), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (failed(fd)) return false;
  std::uint64_t offset = __atomic_fetch_add(&header_->file_bytes, bytes, __ATOMIC_RELAXED);
  // Without the header nobody knows where the file goes on.
  bool used = !has_lost_pages() && use(static_cast<int>(fd), offset);
  raw_syscall(SYS_close, fd);
  if (used) return true;
  std::uint64_t end = offset + bytes;  // given back, unless another thread has gone on from there
  __atomic_compare_exchange_n(&header_->file_bytes, &end, offset, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return false;
}

// A part of the file for a chunk, reserved on the disk and populated in memory.
ChunkHeader* FileWriter::map_part(std::uint32_t bytes, std::uint64_t* offset) {
  void* address = nullptr;
  in_new_part(bytes, [&](int fd, std::uint64_t at) {
    *offset = at;
    int error = 0;
    address = map_new_space(fd, at, bytes, fault_around_, error);
    return address != nullptr;
  });
  return static_cast<ChunkHeader*>(address);
}

ChunkHeader* FileWriter::map_chunk(ChunkKind kind, std::uint16_t thread, std::uint32_t bytes) {
  std::uint64_t offset = 0;
  ChunkHeader* chunk = map_part(bytes, &offset);
  if (!chunk) {
    hold_off();
    return nullptr;
  }
  note_mapped_part(chunk, bytes, true);
  succeeded();
  note_content(offset + bytes);
  chunk->kind = kind;
  chunk->thread = thread;
  chunk->bytes = bytes;
  chunk->offset = offset;
  chunk->number = __atomic_add_fetch(&header_->chunks, 1, __ATOMIC_RELAXED);
  chunk->opened = mark_clock_now();
  __atomic_store_n(&chunk->magic, kChunkMagic, __ATOMIC_RELEASE);
  note_whole_chunk();
  return chunk;
}

bool FileWriter::copy_to_end(const ChunkHeader* chunk) {
  return in_new_part(chunk->bytes, [&](int fd, std::uint64_t offset) {
    if (!write_copy(fd, *chunk, offset)) return false;
    note_content(offset + chunk->bytes);
    return true;
  });
}

bool FileWriter::move_out(ChunkHeader* chunk) {
  if (has_open_record(chunk) || !may_write() || holds_off()) return false;
  if (!copy_to_end(chunk)) {
    hold_off();
    return false;
  }
  succeeded();
  restart(chunk, chunk->thread);
  return true;
}

bool FileWriter::reserve_bulk(std::uint32_t bytes) {
  std::uint64_t in_use = __atomic_fetch_add(&header_->bulk_bytes, bytes, __ATOMIC_RELAXED);
  if (in_use + bytes <= header_->ring_bytes) return true;
  __atomic_fetch_sub(&header_->bulk_bytes, bytes, __ATOMIC_RELAXED);
  return false;
}

bool FileWriter::may_write() {
  if (!header_ || has_lost_pages()) return false;
  if (!check_pid_ || raw_syscall(SYS_getpid) == header_->pid) return true;
  count(Health::stray_process);
  return false;
}

ChunkHeader* FileWriter::open_chunk(ChunkKind kind, std::uint16_t thread, std::uint32_t bytes) {
  if (!may_write()) return nullptr;
  bool bulk = in_ring(kind);
  if (bulk && !reserve_bulk(bytes)) return recycle(kind, thread);
  ChunkHeader* chunk = holds_off() ? nullptr : map_chunk(kind, thread, bytes);
  if (!chunk) {
    if (bulk) __atomic_fetch_sub(&header_->bulk_bytes, bytes, __ATOMIC_RELAXED);
    return bulk ? recycle(kind, thread) : nullptr;
  }
  if (bulk) register_bulk_chunk(chunk);
  return chunk;
}

void FileWriter::register_bulk_chunk(ChunkHeader* chunk) {
  std::uint32_t index = bulk_used_.fetch_add(1, std::memory_order_relaxed);
  if (index < bulk_slots_) bulk_[index].chunk.store(chunk, std::memory_order_release);
}

void FileWriter::retire_bulk_chunk(ChunkHeader* chunk) {
  std::uint32_t used = bulk_used_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used && i < bulk_slots_; ++i) {
    if (bulk_[i].chunk.load(std::memory_order_relaxed) != chunk) continue;
    bulk_[i].retired.store(1, std::memory_order_release);
    return;
  }
}

ChunkHeader* FileWriter::recycle(ChunkKind kind, std::uint16_t thread) {
  std::uint32_t used = bulk_used_.load(std::memory_order_relaxed);
  BulkSlot* oldest = nullptr;
  std::uint64_t oldest_number = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < used && i < bulk_slots_; ++i) {
    BulkSlot& slot = bulk_[i];
    if (!slot.retired.load(std::memory_order_acquire)) continue;
    ChunkHeader* chunk = slot.chunk.load(std::memory_order_relaxed);
    std::uint64_t number = __atomic_load_n(&chunk->number, __ATOMIC_RELAXED);
    if (number >= oldest_number || has_open_record(chunk)) continue;
    oldest = &slot;
    oldest_number = number;
  }
  std::uint32_t expected = 1;
  // Losing the race to another thread is rare and costs one record, not a loop in the guest.
  if (!oldest || !oldest->retired.compare_exchange_strong(expected, 0, std::memory_order_acquire))
    return nullptr;
  ChunkHeader* chunk = oldest->chunk.load(std::memory_order_relaxed);
  if (has_open_record(chunk)) {  // another thread had it in the meantime
    oldest->retired.store(1, std::memory_order_release);
    return nullptr;
  }
  overwrite(chunk, kind, thread);
  return chunk;
}

bool FileWriter::reuse_bulk_chunk(ChunkHeader* chunk) {
  if (has_open_record(chunk)) return false;
  overwrite(chunk, chunk->kind, chunk->thread);
  return true;
}

void FileWriter::overwrite(ChunkHeader* chunk, ChunkKind kind, std::uint16_t thread) {
  if (chunk->kind == ChunkKind::kBulk)
    count(Health::bulk_records_overwritten, chunk->used / sizeof(Record));
  else
    count(Health::device_work_overwritten, chunk->used / sizeof(DeviceWork));
  __atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE);  // before it is of another kind
  chunk->kind = kind;
  restart(chunk, thread);
}

void FileWriter::restart(ChunkHeader* chunk, std::uint16_t thread) {
  __atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE);
  ++chunk->generation;
  chunk->thread = thread;
  __atomic_store_n(&chunk->number, __atomic_add_fetch(&header_->chunks, 1, __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
  chunk->opened = mark_clock_now();
  note_whole_chunk();
}

// What is missing of those was lost after it was recorded: a thread that is killed in here is not among them.
void FileWriter::note_whole_chunk() { __atomic_add_fetch(&header_->whole_chunks, 1, __ATOMIC_RELEASE); }

FileWriter::Known* FileWriter::find_known(std::uint64_t hash) {
  if (!hash) hash = 1;  // 0 marks a free place
  for (int probe = 0; probe < kMaxProbes; ++probe) {
    Known& place = known_[(hash + static_cast<std::uint64_t>(probe)) & (kKnownSlots - 1)];
    std::uint64_t present = place.hash.load(std::memory_order_acquire);
    if (present == hash) return &place;
    if (present) continue;
    if (place.hash.compare_exchange_strong(present, hash) || present == hash) return &place;
  }
  return nullptr;
}

}  // namespace ddpscope::trace
