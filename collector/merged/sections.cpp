// Writes and reads the section table.
#include "collector/merged/sections.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ddpscope::merged {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kMostSections = 64;

std::uint64_t checksum(std::span<const unsigned char> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::span<const unsigned char> checked_part(const Header& header) {
  return {reinterpret_cast<const unsigned char*>(&header), offsetof(Header, header_checksum)};
}

const char* name_of(SectionId id) {
  switch (id) {
    case SectionId::kFacts:
      return "facts of the job";
    case SectionId::kTracks:
      return "tracks";
    case SectionId::kFindings:
      return "findings";
    case SectionId::kCommunicators:
      return "communicators";
    default:
      return "an index";
  }
}

constexpr char kAgain[] = "export the trace again";

bool lies_within(const SectionEntry& entry, std::uint64_t file_bytes) {
  return entry.offset <= file_bytes && entry.bytes <= file_bytes - entry.offset &&
         entry.offset % kAlignment == 0;
}

// Header, as far as it can be judged by itself.
Result<Header> read_header(std::span<const unsigned char> file, const std::string& where) {
  if (file.size() < sizeof(kMagic) || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return Error{"this is no merged file of ddpscope", where, "`ddpscope export --format merged` makes one"};
  Header header{};
  if (file.size() < sizeof(header)) return Error{"the merged file is cut off in its header", where, kAgain};
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.version > kVersion)
    return Error{fmt::format("the merged file has version {}, this ddpscope reads versions up to {}",
                             header.version, kVersion),
                 where, "use a newer ddpscope, or export the trace again with this one"};
  if (header.version == 0 || checksum(checked_part(header)) != header.header_checksum)
    return Error{"the header of the merged file is damaged", where, kAgain};
  if (file.size() < header.file_bytes)
    return Error{
        fmt::format("the merged file is cut off: it has {} of {} bytes", file.size(), header.file_bytes),
        where, "copy it again, or export the trace again"};
  return header;
}

}  // namespace

void SectionWriter::put(SectionId id, std::span<const unsigned char> bytes) {
  output_.align(kAlignment);
  entries_.push_back({id, 1, output_.offset(), bytes.size(), checksum(bytes)});
  output_.append(bytes);
}

void SectionWriter::begin(SectionId id) {
  output_.align(kPage);
  entries_.push_back({id, 0, output_.offset(), 0, 0});
}

void SectionWriter::end() { entries_.back().bytes = output_.offset() - entries_.back().offset; }

void SectionWriter::list(SectionId id, std::uint64_t offset, std::uint64_t bytes) {
  entries_.push_back({id, 0, offset, bytes, 0});
}

void SectionWriter::finish() {
  output_.align(kAlignment);
  std::span<const unsigned char> table(reinterpret_cast<const unsigned char*>(entries_.data()),
                                       entries_.size() * sizeof(SectionEntry));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.header_bytes = sizeof(Header);
  header.table_offset = output_.offset();
  header.table_entries = static_cast<std::uint32_t>(entries_.size());
  header.table_checksum = checksum(table);
  output_.append(table);
  header.file_bytes = output_.offset();
  header.header_checksum = checksum(checked_part(header));
  output_.write_at(0, {reinterpret_cast<const unsigned char*>(&header), sizeof(header)});
}

Result<SectionTable> SectionTable::read(std::span<const unsigned char> file,
                                        const std::filesystem::path& path,
                                        std::span<const unsigned char> data) {
  const std::string where = path.string();
  auto header = read_header(file, where);
  if (!header) return header.error();
  Error damaged{"the table of sections of the merged file is damaged", where, kAgain};
  std::uint64_t bytes = std::uint64_t{header->table_entries} * sizeof(SectionEntry);
  if (header->table_entries > kMostSections || header->table_offset > header->file_bytes ||
      bytes > header->file_bytes - header->table_offset)
    return damaged;
  SectionTable table;
  table.file_ = file.first(static_cast<std::size_t>(header->file_bytes));
  table.data_ = data.empty() ? table.file_ : data;
  auto entries =
      table.file_.subspan(static_cast<std::size_t>(header->table_offset), static_cast<std::size_t>(bytes));
  if (checksum(entries) != header->table_checksum) return damaged;
  table.entries_.resize(header->table_entries);
  if (!entries.empty()) std::memcpy(table.entries_.data(), entries.data(), entries.size());
  for (const SectionEntry& entry : table.entries_) {
    bool of_data = entry.id == SectionId::kData;
    if (!lies_within(entry, of_data ? table.data_.size() : header->file_bytes)) return damaged;
    if (entry.checked && checksum(table.bytes(entry.id)) != entry.checksum)
      return Error{fmt::format("the merged file is damaged: {}", name_of(entry.id)), where, kAgain};
  }
  return table;
}

std::span<const unsigned char> SectionTable::bytes(SectionId id) const {
  for (const SectionEntry& entry : entries_)
    if (entry.id == id)
      return file_.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.bytes));
  return {};
}

std::span<const unsigned char> SectionTable::data(std::uint64_t offset, std::uint64_t bytes) const {
  for (const SectionEntry& entry : entries_) {
    if (entry.id != SectionId::kData) continue;
    if (offset < entry.offset || offset - entry.offset > entry.bytes) return {};
    if (bytes > entry.bytes - (offset - entry.offset)) return {};
    return data_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
  }
  return {};
}

}  // namespace ddpscope::merged
