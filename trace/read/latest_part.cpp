// Walks the chunk headers, chooses, and loads what was chosen.
#include "trace/read/latest_part.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "trace/format.h"

namespace ddpscope::trace {
namespace {

// Of each process. Eight of them are read, checked and matched in a fraction of a second.
constexpr std::size_t kFirstRecords = std::size_t{1} << 20;  // what it is, its communicators
constexpr std::size_t kLatestRecords = std::size_t{4} << 20;
constexpr std::size_t kLatestFolded = std::size_t{256} << 10;  // 8 bytes a call
constexpr std::size_t kLatestBulk = std::size_t{2} << 20;

struct Chunk {
  std::size_t offset;
  ChunkHeader header;
  bool sound = true;  // else a damaged page: the reader is to see and to name it
  bool chosen = false;

  bool of(ChunkKind kind) const { return sound && header.kind == kind; }
  bool has_open_call() const {
    return of(ChunkKind::kFolded) ? (header.used & kCallOpen) != 0 : header.open > 0;
  }
};

// What was written of a file that ends meanwhile is zero.
bool load_at(int fd, std::size_t offset, void* to, std::size_t bytes) {
  auto* at = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    at += got;
    offset += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool plausible(const ChunkHeader& chunk, std::size_t offset) {
  return chunk.magic == kChunkMagic && chunk.offset == offset && chunk.bytes >= kPageBytes &&
         chunk.bytes <= kMaxChunkBytes && chunk.bytes % kPageBytes == 0;
}

bool is_empty(const ChunkHeader& header) {
  ChunkHeader none{};
  return std::memcmp(&header, &none, sizeof(none)) == 0;
}

bool read_headers(int fd, std::size_t bytes, std::vector<Chunk>& chunks) {
  for (std::size_t offset = kHeaderBytes; offset + sizeof(ChunkHeader) <= bytes;) {
    Chunk chunk{offset, {}};
    if (!load_at(fd, offset, &chunk.header, sizeof(chunk.header))) return false;
    chunk.sound = plausible(chunk.header, offset);
    if (chunk.sound || !is_empty(chunk.header)) chunks.push_back(chunk);
    offset += chunk.sound ? chunk.header.bytes : kPageBytes;
  }
  return true;
}

// From one end, until that many bytes are chosen.
template <class Chunks>
void choose(Chunks&& chunks, ChunkKind kind, std::size_t budget) {
  for (Chunk& chunk : chunks) {
    if (!chunk.of(kind)) continue;
    std::size_t used = std::min(chunk.header.used, chunk.header.bytes);
    if (used > budget) return;
    budget -= used;
    chunk.chosen = true;
  }
}

void choose(std::vector<Chunk>& chunks) {
  auto by_number = [](const Chunk& a, const Chunk& b) { return a.header.number < b.header.number; };
  std::stable_sort(chunks.begin(), chunks.end(), by_number);
  choose(chunks, ChunkKind::kRecords, kFirstRecords);
  std::reverse(chunks.begin(), chunks.end());
  choose(chunks, ChunkKind::kRecords, kLatestRecords);
  choose(chunks, ChunkKind::kFolded, kLatestFolded);
  choose(chunks, ChunkKind::kBulk, kLatestBulk);
  std::set<std::tuple<std::uint16_t, ChunkKind>> seen;
  for (Chunk& chunk : chunks) {
    if (!chunk.sound) continue;
    bool latest_of_thread = seen.emplace(chunk.header.thread, chunk.header.kind).second;
    bool calls = !chunk.of(ChunkKind::kItems);
    if (chunk.of(ChunkKind::kTables) || chunk.has_open_call() || (latest_of_thread && calls))
      chunk.chosen = true;
  }
}

// The writer may take the chunk for something new while it is read: then it is read again.
bool load_chunk(int fd, const Chunk& chunk, unsigned char* to) {
  constexpr int kTries = 8;
  ChunkHeader before{}, after{};
  for (int i = 0; i < kTries; ++i) {
    if (!load_at(fd, chunk.offset, &before, sizeof(before)) ||
        !load_at(fd, chunk.offset, to, chunk.header.bytes) ||
        !load_at(fd, chunk.offset, &after, sizeof(after)))
      return false;
    if (before.number == after.number && before.generation == after.generation) break;
  }
  // What came after the counter was read may not be whole yet.
  auto* header = reinterpret_cast<ChunkHeader*>(to);
  if (!chunk.of(ChunkKind::kFolded)) header->used = std::min(header->used, before.used);
  return true;
}

}  // namespace

LatestPart LatestPart::of(int fd, std::size_t bytes) {
  LatestPart part;
  if (bytes < kHeaderBytes) return part;
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return part;
  part.begin_ = static_cast<unsigned char*>(memory);
  part.bytes_ = bytes;
  std::vector<Chunk> chunks;
  if (!load_at(fd, 0, part.begin_, kHeaderBytes) || !read_headers(fd, bytes, chunks)) return {};
  choose(chunks);
  for (const Chunk& chunk : chunks) {
    if (chunk.chosen && chunk.offset + chunk.header.bytes <= bytes) {
      if (!load_chunk(fd, chunk, part.begin_ + chunk.offset)) return {};
      continue;
    }
    bool kept = chunk.of(ChunkKind::kRecords) || chunk.of(ChunkKind::kFolded);
    part.left_out_calls_ = part.left_out_calls_ || (kept && chunk.header.used > 0);
    ChunkHeader emptied = chunk.header;
    if (chunk.sound) emptied.used = emptied.signatures = 0;
    std::copy_n(reinterpret_cast<const unsigned char*>(&emptied), sizeof(emptied),
                part.begin_ + chunk.offset);
  }
  return part;
}

LatestPart::~LatestPart() {
  if (begin_) ::munmap(begin_, bytes_);
}

}  // namespace ddpscope::trace
