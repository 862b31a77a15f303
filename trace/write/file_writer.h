// The writing half of a trace file: runs inside the guest, so it never allocates, locks, throws, blocks or
// holds a descriptor, and makes system calls only when a chunk is opened.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/calls.h"
#include "trace/format.h"
#include "trace/health.h"
#include "trace/write/clock.h"
#include "trace/write/file_space.h"
#include "trace/write/identity.h"

namespace ddpscope::trace {

constexpr std::uint64_t kDefaultRingBytes = 64u << 20;
constexpr std::size_t kMaxPath = 4096;

// Hash of the bytes with which strings and stacks are told apart (and a communicator's identity is made).
std::uint64_t hash_bytes(const void* bytes, std::size_t size);

// Leaves the mark of a process that could not make its file (format.h), if a folder can be made there. `run`
// stands in its name: letters and digits.
void mark_unrecorded(const char* directory, const Identity& identity, int error, const char* run);

// One per process, in static storage: zero-initialised means closed.
class FileWriter {
 public:
  // Creates DIRECTORY/HOST.PID.START[.N].ddps, mode 0600, N because exec keeps pid and start time. The folder
  // is made (0700) if it is missing. False: nothing can be recorded, as refusal() says. `check_pid`: refuse
  // chunks in a copy of the process that was made behind fork()'s back.
  bool open(const char* directory, const Identity& identity, const Clock& clock, std::uint64_t ring_bytes,
            bool check_pid);

  int refusal() const { return refusal_; }  // the error number of the last open(); 0: it succeeded

  // Forgets the file without touching it: for the child after fork, whose parent goes on writing it.
  void abandon();

  bool is_open() const { return header_ != nullptr; }
  FileHeader& header() { return *header_; }
  const Clock& clock() const { return clock_; }
  const char* path() const { return path_; }
  std::uint32_t epoch() const { return epoch_; }  // changes with abandon(): what was open before is not ours

  void count(Health counter, std::uint64_t n = 1) {
    if (header_) __atomic_fetch_add(&header_->health[static_cast<int>(counter)], n, __ATOMIC_RELAXED);
  }
  std::uint16_t next_thread();  // 0 and counted when a file can name no more
  std::uint32_t next_file() { return __atomic_add_fetch(&header_->files, 1, __ATOMIC_RELAXED); }
  void mark_clock();  // the header's latest tuple

  // A populated chunk, or nullptr (counted as chunk_open_failed). Bulk: once the ring is full, the oldest
  // chunk that no thread fills any more and that holds no open record.
  ChunkHeader* open_chunk(ChunkKind kind, std::uint16_t thread, std::uint32_t bytes);
  // Writes a full chunk of kept records to the end of the file and gives it back empty: its memory is mapped
  // and in the processor's caches, which a new one's is not. False: a record in it is open, or there is no
  // room (counted); it is as it was.
  bool move_out(ChunkHeader* chunk);
  void retire_bulk_chunk(ChunkHeader* chunk);  // its thread is done with it: the ring may take it
  // For a thread that the full ring has no other chunk for: its own, from the start. False: a record in it is
  // open.
  bool reuse_bulk_chunk(ChunkHeader* chunk);

  // A place in the table of known strings and stacks. `*id` 0: the caller writes the entry and then publishes
  // it.
  struct Known {
    std::atomic<std::uint64_t> hash;
    std::atomic<std::uint32_t> id;
  };
  Known* find_known(std::uint64_t hash);  // nullptr: the table is full

 private:
  struct BulkSlot {
    std::atomic<ChunkHeader*> chunk;
    std::atomic<std::uint32_t> retired;
  };
  ChunkHeader* map_chunk(ChunkKind kind, std::uint16_t thread, std::uint32_t bytes);
  ChunkHeader* recycle(ChunkKind kind, std::uint16_t thread);
  void overwrite(ChunkHeader* chunk, ChunkKind kind, std::uint16_t thread);
  void restart(ChunkHeader* chunk, std::uint16_t thread);
  void succeeded() {
    if (failures_.load(std::memory_order_relaxed)) failures_.store(0, std::memory_order_relaxed);
  }
  ClockTuple mark_clock_now();
  void note_content(std::uint64_t end);
  void note_whole_chunk();
  bool holds_off();
  void hold_off();
  ChunkHeader* map_part(std::uint32_t bytes, std::uint64_t* offset);
  bool copy_to_end(const ChunkHeader* chunk);
  // Runs `use` with the file's descriptor and a new part of the file; the part is given back if it says
  // false.
  template <class Use>
  bool in_new_part(std::uint32_t bytes, Use&& use);
  bool may_write();
  void register_bulk_chunk(ChunkHeader* chunk);
  bool reserve_bulk(std::uint32_t bytes);
  void write_header(const Identity& identity, std::uint64_t ring_bytes);

  FileHeader* header_{};
  Clock clock_{};
  Known* known_{};
  BulkSlot* bulk_{};
  std::uint32_t bulk_slots_{};
  std::atomic<std::uint32_t> bulk_used_{};
  std::atomic<bool> marking_clock_{};
  std::atomic<std::uint32_t> failures_{};     // chunks that could not be opened, one after the other
  std::atomic<std::int32_t> requests_off_{};  // refused without a try until this is used up
  std::atomic<FaultAround> fault_around_{};
  std::uint32_t epoch_{};
  int refusal_{};
  bool check_pid_{};
  char path_[kMaxPath]{};
};

}  // namespace ddpscope::trace
