// Reads the header and walks the chunks.
#include "trace/read/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace ddpscope::trace {
namespace {

template <class T>
T load(const std::vector<unsigned char>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool sound(const ChunkHeader& chunk, std::size_t offset) {
  return chunk.magic == kChunkMagic && chunk.offset == offset && chunk.bytes >= kPageBytes &&
         chunk.bytes <= kMaxChunkBytes && chunk.bytes % kPageBytes == 0;
}

template <class T>
std::span<const T> view(std::span<const unsigned char> content) {
  return {reinterpret_cast<const T*>(content.data()), content.size() / sizeof(T)};
}

}  // namespace

Result<TraceFile> TraceFile::open(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return Error{"cannot read the trace file", path.string(), std::strerror(errno)};
  std::streamoff size = in.tellg();
  std::vector<unsigned char> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return parse(std::move(bytes), path.string());
}

Result<TraceFile> TraceFile::parse(std::vector<unsigned char> bytes, std::string name) {
  if (bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return Error{"not a ddpscope trace file", name, "remove it from the folder or name another one"};
  if (bytes.size() < kHeaderBytes)
    return Error{"the trace file is cut off inside its header", name,
                 "its process may have died while it was made; remove it"};
  TraceFile file;
  file.name_ = std::move(name);
  file.bytes_ = std::move(bytes);
  file.header_ = load<FileHeader>(file.bytes_, 0);
  const FileHeader& h = file.header_;
  if (h.version > kVersion)
    return Error{"the trace file has format version " + std::to_string(h.version) +
                     ", this ddpscope reads up to " + std::to_string(kVersion),
                 file.name_, "use the ddpscope that recorded it, or a newer one"};
  if (h.version == 0 || h.header_bytes != kHeaderBytes || h.record_bytes != sizeof(Record) ||
      (h.clock != ClockKind::kTsc && h.clock != ClockKind::kMonotonicNs))
    return Error{"the trace file's header is damaged", file.name_, "remove it from the folder"};
  file.read_chunks();
  return file;
}

void TraceFile::read_chunks() {
  tuples_ = {header_.opened, header_.latest};
  std::size_t offset = kHeaderBytes;
  while (offset + sizeof(ChunkHeader) <= bytes_.size()) offset += read_chunk(offset);
  if (header_.file_bytes > bytes_.size())
    damage_.push_back("cut off: " + std::to_string(header_.file_bytes - bytes_.size()) +
                      " bytes at its end are missing");
  auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::stable_sort(records_.begin(), records_.end(), by_number);
  std::stable_sort(items_.begin(), items_.end(), by_number);
}

std::size_t TraceFile::read_chunk(std::size_t offset) {
  auto chunk = load<ChunkHeader>(bytes_, offset);
  if (!sound(chunk, offset)) {
    // A process killed while it opened a chunk leaves reserved zeros; anything else was not written by a
    // writer.
    bool zeros = std::all_of(
        bytes_.begin() + static_cast<std::ptrdiff_t>(offset),
        bytes_.begin() + static_cast<std::ptrdiff_t>(std::min(offset + kPageBytes, bytes_.size())),
        [](unsigned char byte) { return byte == 0; });
    if (!zeros && damage_.size() < 16)
      damage_.push_back("unreadable bytes at offset " + std::to_string(offset));
    return kPageBytes;
  }
  std::size_t available = std::min<std::size_t>(chunk.bytes, bytes_.size() - offset) - sizeof(ChunkHeader);
  std::size_t used = std::min<std::size_t>(chunk.used, available);
  std::span<const unsigned char> content{bytes_.data() + offset + sizeof(ChunkHeader), used};
  tuples_.push_back(chunk.opened);
  switch (chunk.kind) {
    case ChunkKind::kRecords:
    case ChunkKind::kBulk:
      records_.push_back({chunk.kind, chunk.thread, chunk.number, chunk.generation > 0, view<Record>(content)});
      break;
    case ChunkKind::kItems:
      items_.push_back({chunk.thread, chunk.number, chunk.opened, view<ItemRead>(content)});
      break;
    case ChunkKind::kTables:
      read_tables(content);
      break;
    default:
      damage_.push_back("a chunk of unknown kind at offset " + std::to_string(offset));
      break;
  }
  return chunk.bytes;
}

void TraceFile::read_tables(std::span<const unsigned char> content) {
  while (content.size() >= sizeof(TableEntry)) {
    TableEntry entry;
    std::memcpy(&entry, content.data(), sizeof(entry));
    content = content.subspan(sizeof(entry));
    std::size_t padded = (static_cast<std::size_t>(entry.bytes) + 7) / 8 * 8;
    if (padded > content.size()) {
      damage_.push_back("a table entry runs over its chunk");
      return;
    }
    std::string_view text{reinterpret_cast<const char*>(content.data()), entry.bytes};
    if (entry.kind == TableKind::kString) strings_.emplace(entry.id, text);
    if (entry.kind == TableKind::kStack)
      stacks_.emplace(entry.id, view<StackFrame>(content.first(entry.bytes)));
    if (entry.kind == TableKind::kSchema) schema_ = text;
    content = content.subspan(padded);
  }
}

std::string_view TraceFile::string(std::uint32_t id) const {
  auto found = strings_.find(id);
  return found == strings_.end() ? std::string_view{} : found->second;
}

std::span<const StackFrame> TraceFile::stack(std::uint32_t id) const {
  auto found = stacks_.find(id);
  return found == stacks_.end() ? std::span<const StackFrame>{} : found->second;
}

}  // namespace ddpscope::trace
