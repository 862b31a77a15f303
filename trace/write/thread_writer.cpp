// Records, strings, stacks and items of one thread.
#include "trace/write/thread_writer.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint32_t capacity(const ChunkHeader* chunk) {
  return chunk->bytes - static_cast<std::uint32_t>(sizeof(ChunkHeader));
}

unsigned char* free_space(ChunkHeader* chunk) {
  return reinterpret_cast<unsigned char*>(chunk + 1) + chunk->used;
}

// What was written becomes visible to a reader of a killed process in this order and no other.
inline void publish(ChunkHeader* chunk, std::uint32_t bytes) {
  __atomic_store_n(&chunk->used, chunk->used + bytes, __ATOMIC_RELEASE);
}

Health lost_counter(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kBulk:
      return Health::bulk_records_lost;
    case ChunkKind::kItems:
      return Health::items_lost;
    case ChunkKind::kTables:
      return Health::strings_lost;
    default:
      return Health::kept_records_lost;
  }
}

}  // namespace

std::uint16_t ThreadWriter::number(FileWriter& file) {
  if (!number_) number_ = file.next_thread();
  return number_;
}

ChunkHeader* ThreadWriter::room(FileWriter& file, ChunkKind kind, std::uint32_t bytes) {
  auto index = static_cast<std::size_t>(kind);
  ChunkHeader* chunk = chunks_[index];
  if (chunk && chunk->used + bytes <= capacity(chunk)) return chunk;
  if (!number(file)) return nullptr;
  std::uint32_t size = next_bytes_[index] ? next_bytes_[index] : kPageBytes;
  while (size < bytes + sizeof(ChunkHeader) && size < kMaxChunkBytes) size *= 2;
  if (size < bytes + sizeof(ChunkHeader)) return nullptr;
  ChunkHeader* fresh = file.open_chunk(kind, number_, size);
  if (!fresh) return nullptr;
  if (chunk && kind == ChunkKind::kBulk) file.retire_bulk_chunk(chunk);
  next_bytes_[index] = size < kMaxChunkBytes ? size * 2 : kMaxChunkBytes;
  chunks_[index] = fresh;
  return fresh;
}

OpenRecord ThreadWriter::open_in(FileWriter& file, Call call, Budget budget, const void* payload,
                                 std::size_t bytes, std::uint64_t ticks, std::uint32_t stack) {
  ChunkKind kind = budget == Budget::kKept ? ChunkKind::kRecords : ChunkKind::kBulk;
  ChunkHeader* chunk = room(file, kind, sizeof(Record));
  if (!chunk) {
    file.count(lost_counter(kind));
    return {};
  }
  auto* record = reinterpret_cast<Record*>(free_space(chunk));
  record->begin = ticks;
  record->end = 0;
  record->call = static_cast<std::uint16_t>(call);
  record->thread = number_;
  record->stack = stack;
  std::memset(record->payload, 0, kPayloadBytes);
  std::memcpy(record->payload, payload, bytes);
  ++chunk->open;
  publish(chunk, sizeof(Record));
  last_ = record;
  last_chunk_ = chunk;
  last_key_ = 0;
  ++opened_;
  return {record, chunk, file.epoch(), chunk->generation};
}

OpenRecord ThreadWriter::reopen(FileWriter& file, Call call, std::uint64_t key) {
  if (!last_ || last_key_ != key || last_->call != static_cast<std::uint16_t>(call) || !last_->end) return {};
  ++last_chunk_->open;
  __atomic_store_n(&last_->end, 0, __ATOMIC_RELEASE);
  return {last_, last_chunk_, file.epoch(), last_chunk_->generation};
}

OpenRecord ThreadWriter::resume(FileWriter& file, const OpenRecord& earlier) {
  ChunkHeader* chunk = earlier.chunk;
  if (!earlier || earlier.epoch != file.epoch() || chunk->thread != number_ || !number_) return {};
  if (earlier.generation != chunk->generation || !earlier.record->end) return {};
  if (chunk->kind == ChunkKind::kBulk && chunk != chunks_[static_cast<std::size_t>(ChunkKind::kBulk)]) return {};
  ++chunk->open;
  __atomic_store_n(&earlier.record->end, 0, __ATOMIC_RELEASE);
  return earlier;
}

std::uint32_t ThreadWriter::write_entry(FileWriter& file, TableKind kind, std::uint32_t* counter,
                                        const void* data, std::size_t bytes) {
  auto padded = static_cast<std::uint32_t>((bytes + 7) / 8 * 8);
  ChunkHeader* chunk =
      room(file, ChunkKind::kTables, static_cast<std::uint32_t>(sizeof(TableEntry)) + padded);
  if (!chunk) return 0;
  auto* entry = reinterpret_cast<TableEntry*>(free_space(chunk));
  *entry = {};
  entry->id = counter ? __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED) : 1;
  entry->kind = kind;
  entry->bytes = static_cast<std::uint32_t>(bytes);
  std::memcpy(entry + 1, data, bytes);
  publish(chunk, static_cast<std::uint32_t>(sizeof(TableEntry)) + padded);
  return entry->id;
}

std::uint32_t ThreadWriter::intern_entry(FileWriter& file, TableKind kind, std::uint32_t* counter,
                                         const void* data, std::size_t bytes, Health lost) {
  if (bytes > kMaxPath * 8) bytes = kMaxPath * 8;
  std::uint64_t hash = hash_bytes(data, bytes) ^ static_cast<std::uint64_t>(kind);
  FileWriter::Known* known = file.find_known(hash);
  std::uint32_t id = known ? known->id.load(std::memory_order_acquire) : 0;
  if (id) return id;
  // Without a place in the table nothing would stop a repeated string from filling the file.
  id = known ? write_entry(file, kind, counter, data, bytes) : 0;
  if (id)
    known->id.store(id, std::memory_order_release);
  else
    file.count(lost);
  return id;
}

std::uint32_t ThreadWriter::intern(FileWriter& file, const char* text, std::size_t bytes) {
  return intern_entry(file, TableKind::kString, &file.header().strings, text, bytes, Health::strings_lost);
}

std::uint32_t ThreadWriter::intern_stack(FileWriter& file, const StackFrame* frames, std::size_t count) {
  return intern_entry(file, TableKind::kStack, &file.header().stacks, frames, count * sizeof(StackFrame),
                      Health::stacks_lost);
}

void ThreadWriter::write_schema(FileWriter& file, const char* text, std::size_t bytes) {
  if (!write_entry(file, TableKind::kSchema, nullptr, text, bytes)) file.count(Health::strings_lost);
}

bool ThreadWriter::add_item(FileWriter& file, const ItemRead& item) {
  ChunkHeader* chunk = room(file, ChunkKind::kItems, sizeof(ItemRead));
  if (!chunk) {
    file.count(Health::items_lost);
    return false;
  }
  std::memcpy(free_space(chunk), &item, sizeof(item));
  publish(chunk, sizeof(item));
  return true;
}

void ThreadWriter::leave(FileWriter& file) {
  ChunkHeader* bulk = chunks_[static_cast<std::size_t>(ChunkKind::kBulk)];
  if (bulk) file.retire_bulk_chunk(bulk);
  forget();
}

}  // namespace ddpscope::trace
