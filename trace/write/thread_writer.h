// What one thread writes: records opened before a call and closed after it, strings, stacks, items.
#pragma once
#include <cstring>
#include <type_traits>

#include "trace/device_work.h"
#include "trace/schema.h"
#include "trace/write/file_writer.h"
#include "trace/write/fold.h"

namespace ddpscope::trace {

// A record that was begun. Closing it is harmless after fork or when nothing was recorded.
struct OpenRecord {
  Record* record = nullptr;
  ChunkHeader* chunk = nullptr;
  std::uint32_t epoch = 0;
  std::uint32_t generation = 0;  // of the chunk
  Fold* fold = nullptr;          // a regular call, which will be folded

  explicit operator bool() const { return record != nullptr; }
  template <class Payload>
  Payload& payload() const {
    return *reinterpret_cast<Payload*>(record->payload);
  }
};

// Of a run of calls in one record that is still open nobody can tell when the last one returned: where that
// matters, who moves data slowly from who waits for it in vain, a run lasts so many ticks at most: a third of
// a second to one, whatever the clock.
constexpr std::uint64_t kLongestRun = 1ull << 30;

// One per thread, in thread-local storage of the injector; zero-initialised means: nothing written yet.
class ThreadWriter {
 public:
  // Opens a record at `ticks`. Its payload is what was known before the call; results are filled in before
  // close().
  template <Call call>
  [[gnu::always_inline]] OpenRecord open(FileWriter& file, const PayloadOf<call>& payload,
                                         std::uint64_t ticks, std::uint32_t stack = 0) {
    constexpr ChunkKind kind = kBudgetOf<call> == Budget::kKept ? ChunkKind::kRecords : ChunkKind::kBulk;
    return open_with(file, kind, call, arguments_of(payload), ticks, stack);
  }
  // The same for calls that recur with the same arguments: from the second one on they take 8 bytes each.
  // While one is open it is a record like any other, and what a signal handler records meanwhile is one of
  // its own, also while close() is at work.
  template <Call call>
  [[gnu::always_inline]] OpenRecord open_regular(FileWriter& file, const PayloadOf<call>& payload,
                                                 std::uint64_t ticks, std::uint32_t stack = 0) {
    static_assert(kBudgetOf<call> == Budget::kKept);
    constexpr bool counts = is_numbered(kPayloadOf<call>);
    Arguments arguments = arguments_of(payload);
    if (!fold_ || fold_->seen(call, stack, recurring(arguments, counts))) [[unlikely]]
      if (OpenRecord open = open_folded(file, call, counts, arguments, ticks, stack)) return open;
    return open_with(file, ChunkKind::kRecords, call, arguments, ticks, stack);
  }
  // For tools that know the call only at run time. `bytes` at most kPayloadBytes.
  OpenRecord open_in(FileWriter& file, Call call, Budget budget, const void* payload, std::size_t bytes,
                     std::uint64_t ticks, std::uint32_t stack, bool regular = false);

  // The last record of this thread, opened anew, if it was this call with this key, nothing was recorded
  // since and the run is no longer than `longest` ticks: a run of calls becomes one record. The caller adds
  // to count and bytes. Nothing otherwise.
  OpenRecord reopen(FileWriter& file, Call call, std::uint64_t key, std::uint64_t longest = ~0ull);
  // An earlier record of this thread, opened anew whatever was recorded since. Nothing if it is still open,
  // from before a fork, another thread's, or bulk in a chunk that this thread has left (the ring may have
  // taken it).
  OpenRecord resume(FileWriter& file, const OpenRecord& earlier);
  // What was recorded since only adds to this closed record of the thread: the next call may still be folded
  // into it. Not if it is bulk in a chunk that this thread has left.
  void go_on_with(const OpenRecord& run, std::uint64_t key) {
    if (!run || run.chunk != chunks_[static_cast<std::size_t>(run.chunk->kind)]) return;
    last_ = run.record;
    last_chunk_ = run.chunk;
    last_key_ = key;
  }
  std::uint32_t opened() const {
    return opened_;
  }  // records that this thread has begun, resumed ones not counted

  // For a record of which another thread writes a part later, through its address: its chunk stays where it
  // is.
  static void pin(const OpenRecord& open) {
    if (open) __atomic_store_n(&open.chunk->open, open.chunk->open + 1, __ATOMIC_RELEASE);
  }

  void set_fold_key(std::uint64_t key) { last_key_ = key; }

  static void close(FileWriter& file, const OpenRecord& open, std::uint64_t ticks) {
    if (!open.record || open.epoch != file.epoch()) return;
    if (open.fold) return open.fold->close(ticks);
    __atomic_store_n(&open.record->end, ticks, __ATOMIC_RELAXED);
    // Only this thread changes it; released, because a chunk without open records may go to another thread.
    __atomic_store_n(&open.chunk->open, open.chunk->open - 1, __ATOMIC_RELEASE);
  }

  // Id of a string or stack in the file's tables, writing it there at its first use. 0: no room (counted).
  std::uint32_t intern(FileWriter& file, const char* text, std::size_t bytes);
  std::uint32_t intern(FileWriter& file, const char* text) {
    return text ? intern(file, text, std::strlen(text)) : 0;
  }
  std::uint32_t intern_stack(FileWriter& file, const StackFrame* frames, std::size_t count);
  void write_schema(FileWriter& file, const char* text, std::size_t bytes);

  bool add_item(FileWriter& file, const ItemRead& item);
  // Kept: collectives, by whatever kind of work they are; the ring is for all else. False: no room (counted).
  bool add_device_work(FileWriter& file, const DeviceWork& work, Budget budget);

  std::uint16_t number(FileWriter& file);                 // of this thread, given at its first record
  std::uint16_t known_number() const { return number_; }  // 0: it has none yet
  // Where its number is also to be written once it has one: in the record of its creation.
  void announce(std::uint32_t* place) { announced_ = place; }
  void leave(FileWriter& file);  // the thread ends
  void forget();                 // after fork

 private:
  friend class Fold;

  static constexpr std::uint32_t capacity(const ChunkHeader* chunk) {
    return chunk->bytes - static_cast<std::uint32_t>(sizeof(ChunkHeader));
  }
  static unsigned char* free_space(ChunkHeader* chunk) {
    return reinterpret_cast<unsigned char*>(chunk + 1) + chunk->used;
  }
  // What was written becomes visible to a reader of a killed process in this order and no other.
  static void publish(ChunkHeader* chunk, std::size_t bytes) {
    __atomic_store_n(&chunk->used, chunk->used + static_cast<std::uint32_t>(bytes), __ATOMIC_RELEASE);
  }

  // A chunk of this kind with so much free space, or nullptr.
  ChunkHeader* room(FileWriter& file, ChunkKind kind, std::uint32_t bytes) {
    ChunkHeader* chunk = chunks_[static_cast<std::size_t>(kind)];
    if (chunk && chunk->used + bytes <= capacity(chunk)) [[likely]]
      return chunk;
    return next_chunk(file, kind, bytes);
  }
  ChunkHeader* next_chunk(FileWriter& file, ChunkKind kind, std::uint32_t bytes);
  OpenRecord lost(FileWriter& file, ChunkKind kind);
  OpenRecord open_folded(FileWriter& file, Call call, bool counts, const Arguments& arguments,
                         std::uint64_t ticks, std::uint32_t stack);

  OpenRecord open_with(FileWriter& file, ChunkKind kind, Call call, const Arguments& arguments,
                       std::uint64_t ticks, std::uint32_t stack) {
    ChunkHeader* chunk = room(file, kind, sizeof(Record));
    if (!chunk) return lost(file, kind);
    auto* record = reinterpret_cast<Record*>(free_space(chunk));
    record->begin = ticks;
    record->end = 0;
    record->call = static_cast<std::uint16_t>(call);
    record->thread = number_;
    record->stack = stack;
    put(record, arguments);
    __atomic_store_n(&chunk->open, chunk->open + 1, __ATOMIC_RELAXED);
    publish(chunk, sizeof(Record));
    last_ = record;
    last_chunk_ = chunk;
    last_key_ = 0;
    ++opened_;
    return {record, chunk, file.epoch(), chunk->generation};
  }

  // Word by word, as they were put together: a wider copy would wait until the words have left the store
  // queue.
  static void put(Record* record, const Arguments& arguments) {
    auto* words = reinterpret_cast<std::uint64_t*>(record->payload);
    for (std::size_t i = 0; i < kPayloadBytes / sizeof(*words); ++i)
      __atomic_store_n(&words[i], arguments.words[i], __ATOMIC_RELAXED);
  }

  template <class Entry>
  bool add(FileWriter& file, ChunkKind kind, const Entry& entry);
  std::uint32_t write_entry(FileWriter& file, TableKind kind, std::uint32_t* counter, const void* data,
                            std::size_t bytes);
  std::uint32_t intern_entry(FileWriter& file, TableKind kind, std::uint32_t* counter, const void* data,
                             std::size_t bytes, Health lost);

  ChunkHeader* chunks_[kChunkKinds] = {};       // by ChunkKind: the one being filled
  std::uint32_t next_bytes_[kChunkKinds] = {};  // size of the next one
  Record* last_ = nullptr;
  ChunkHeader* last_chunk_ = nullptr;
  std::uint64_t last_key_ = 0;
  Fold* fold_ = nullptr;
  std::uint32_t opened_ = 0;
  std::uint16_t number_ = 0;
  bool nameless_ = false;  // the file can name no more threads
  std::uint32_t* announced_ = nullptr;
};

}  // namespace ddpscope::trace
