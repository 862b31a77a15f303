// Records, strings, stacks and items of one thread.
#include "trace/write/thread_writer.h"

namespace ddpscope::trace {
namespace {

Health lost_counter(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kBulk:
      return Health::bulk_records_lost;
    case ChunkKind::kItems:
      return Health::items_lost;
    case ChunkKind::kTables:
      return Health::strings_lost;
    case ChunkKind::kDeviceWork:
    case ChunkKind::kDeviceRing:
      return Health::device_work_lost;
    default:
      return Health::kept_records_lost;
  }
}

}  // namespace

std::uint16_t ThreadWriter::number(FileWriter& file) {
  if (!number_ && !nameless_) {
    number_ = file.next_thread();
    nameless_ = number_ == 0;
    if (announced_) __atomic_store_n(announced_, number_, __ATOMIC_RELAXED);
  }
  return number_;
}

ChunkHeader* ThreadWriter::next_chunk(FileWriter& file, ChunkKind kind, std::uint32_t bytes) {
  if (!number(file)) return nullptr;
  auto index = static_cast<std::size_t>(kind);
  ChunkHeader* full = chunks_[index];
  if (kind == ChunkKind::kRecords && full && full->bytes == kMaxChunkBytes && file.move_out(full)) {
    if (last_chunk_ == full) last_ = nullptr;
    return full;
  }
  std::uint32_t size = next_bytes_[index] ? next_bytes_[index] : kPageBytes;
  while (size < bytes + sizeof(ChunkHeader) && size < kMaxChunkBytes) size *= 2;
  if (size < bytes + sizeof(ChunkHeader)) return nullptr;
  ChunkHeader* fresh = file.open_chunk(kind, number_, size);
  if (in_ring(kind) && full) {
    if (!fresh) return file.reuse_bulk_chunk(full) ? full : nullptr;
    file.retire_bulk_chunk(full);
  }
  if (!fresh) return nullptr;
  next_bytes_[index] = size < kMaxChunkBytes ? size * 2 : kMaxChunkBytes;
  chunks_[index] = fresh;
  return fresh;
}

OpenRecord ThreadWriter::lost(FileWriter& file, ChunkKind kind) {
  file.count(lost_counter(kind));
  return {};
}

OpenRecord ThreadWriter::open_in(FileWriter& file, Call call, Budget budget, const void* payload,
                                 std::size_t bytes, std::uint64_t ticks, std::uint32_t stack, bool regular) {
  Arguments arguments{};
  std::memcpy(&arguments, payload, bytes);
  const CallInfo* info = find_call(static_cast<std::uint16_t>(call));
  bool counts = info && is_numbered(info->payload);
  if (regular && (!fold_ || fold_->seen(call, stack, recurring(arguments, counts))))
    if (OpenRecord open = open_folded(file, call, counts, arguments, ticks, stack)) return open;
  ChunkKind kind = budget == Budget::kKept ? ChunkKind::kRecords : ChunkKind::kBulk;
  return open_with(file, kind, call, arguments, ticks, stack);
}

OpenRecord ThreadWriter::open_folded(FileWriter& file, Call call, bool counts, const Arguments& arguments,
                                     std::uint64_t ticks, std::uint32_t stack) {
  if (!fold_) {  // the thread's first regular call
    fold_ = Fold::create();
    if (fold_) fold_->seen(call, stack, recurring(arguments, counts));
    return {};
  }
  Record record{ticks, 0, static_cast<std::uint16_t>(call), number_, stack, {}};
  std::memcpy(record.payload, &arguments, sizeof(arguments));
  OpenRecord folded = fold_->open(file, *this, record, counts);
  if (folded) {
    last_ = nullptr;  // a run of other calls ends here
    ++opened_;
  }
  return folded;
}

OpenRecord ThreadWriter::reopen(FileWriter& file, Call call, std::uint64_t key, std::uint64_t longest) {
  if (!last_ || last_key_ != key || last_->call != static_cast<std::uint16_t>(call) || !last_->end) return {};
  if (last_->end - last_->begin > longest) return {};
  __atomic_store_n(&last_chunk_->open, last_chunk_->open + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&last_->end, 0, __ATOMIC_RELEASE);
  return {last_, last_chunk_, file.epoch(), last_chunk_->generation};
}

OpenRecord ThreadWriter::resume(FileWriter& file, const OpenRecord& earlier) {
  ChunkHeader* chunk = earlier.chunk;
  if (!earlier || earlier.fold || earlier.epoch != file.epoch() || chunk->thread != number_ || !number_)
    return {};
  if (earlier.generation != chunk->generation || !earlier.record->end) return {};
  if (chunk->kind == ChunkKind::kBulk && chunk != chunks_[static_cast<std::size_t>(ChunkKind::kBulk)])
    return {};
  __atomic_store_n(&chunk->open, chunk->open + 1, __ATOMIC_RELAXED);
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

template <class Entry>
bool ThreadWriter::add(FileWriter& file, ChunkKind kind, const Entry& entry) {
  ChunkHeader* chunk = room(file, kind, sizeof(entry));
  if (!chunk) {
    file.count(lost_counter(kind));
    return false;
  }
  std::memcpy(free_space(chunk), &entry, sizeof(entry));
  publish(chunk, sizeof(entry));
  return true;
}

bool ThreadWriter::add_item(FileWriter& file, const ItemRead& item) {
  return add(file, ChunkKind::kItems, item);
}

bool ThreadWriter::add_device_work(FileWriter& file, const DeviceWork& work, Budget budget) {
  return add(file, budget == Budget::kKept ? ChunkKind::kDeviceWork : ChunkKind::kDeviceRing, work);
}

void ThreadWriter::leave(FileWriter& file) {
  for (ChunkHeader* chunk : chunks_)
    if (chunk && in_ring(chunk->kind)) file.retire_bulk_chunk(chunk);
  forget();
}

void ThreadWriter::forget() {
  if (fold_) fold_->destroy();
  *this = ThreadWriter{};
}

}  // namespace ddpscope::trace
