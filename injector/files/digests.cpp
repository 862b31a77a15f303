// Cuts what is written into blocks by content and hashes a sample of each.
#include "injector/files/digests.h"

#include <algorithm>
#include <cstring>

#include "injector/files/stamp.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint32_t kGranule = 1024;
constexpr std::uint32_t kFirstBlock = 64;    // granules, average
constexpr std::uint32_t kShortestBlock = 4;  // granules
constexpr std::uint32_t kBlocksBeforeGrowth = 256;
constexpr std::uint64_t kData = 4096;  // a part of this size is data, less may be a header
constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;

constinit Pool<Digester, 128> digesters;

// Average block now, in granules: four times longer after every 256.
std::uint32_t block_length(const Digester& d) {
  return kFirstBlock << std::min(2 * (d.blocks / kBlocksBeforeGrowth), 16u);
}

void start_block(Digester& d, std::uint64_t offset) {
  d.block_start = offset;
  d.hash = d.words = 0;
  d.granules = 0;
}

std::uint32_t count_bits(std::uint64_t bits) {
  std::uint32_t count = 0;
  for (; bits; bits &= bits - 1) ++count;
  return count;
}

// Bytes that repeat one word (zeros above all) are equal everywhere: no evidence, no row.
void end_block(trace::FileWriter& file, const Opening& opening, Digester& d, std::uint64_t offset) {
  std::uint32_t distinct = count_bits(d.words);
  if (d.granules < kShortestBlock || distinct < 2) return;
  ++d.blocks;
  trace::payload::Digest payload{opening.file, distinct, d.block_start, offset - d.block_start, d.hash};
  std::uint64_t ticks = now(file);
  trace::OpenRecord record = open_file_record(file, Call::digest, trace::Budget::kKept, payload, ticks);
  trace::ThreadWriter::close(file, record, ticks);
}

void add_line(trace::FileWriter& file, const Opening& opening, Digester& d, const unsigned char* line,
              std::uint64_t offset) {
  std::uint64_t hash = trace::hash_bytes(line, Digester::kLine);
  std::uint32_t length = block_length(d);
  bool cut = (hash & (length - 1)) == 0 && d.granules >= std::max(kShortestBlock, length / 16);
  if (cut || d.granules >= 4 * length) {
    end_block(file, opening, d, offset);
    start_block(d, offset);
  }
  d.hash = (d.hash ^ hash) * kMix + (hash >> 32);
  ++d.granules;
  for (std::uint32_t at = 0; at < Digester::kLine; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, line + at, sizeof(word));
    d.words |= std::uint64_t{1} << ((word * kMix) >> 58);
  }
}

// Takes what it can of one granule; returns how much.
std::uint64_t add_piece(trace::FileWriter& file, const Opening& opening, Digester& d,
                        const unsigned char* bytes, std::uint64_t size) {
  if (d.granule == 0 && size >= Digester::kLine) {
    add_line(file, opening, d, bytes, d.next);
    d.granule = Digester::kLine;
    return Digester::kLine;
  }
  if (d.granule < Digester::kLine) {
    auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, Digester::kLine - d.granule));
    std::memcpy(d.line + d.granule, bytes, taken);
    d.granule += taken;
    if (d.granule == Digester::kLine) add_line(file, opening, d, d.line, d.next + taken - Digester::kLine);
    return taken;
  }
  std::uint64_t rest = std::min<std::uint64_t>(size, kGranule - d.granule);
  d.granule = (d.granule + static_cast<std::uint32_t>(rest)) % kGranule;
  return rest;
}

void restart(trace::FileWriter& file, const Opening& opening, Digester& d, std::uint64_t offset) {
  end_block(file, opening, d, d.next);
  start_block(d, offset);
  d.next = offset;
  d.granule = 0;
}

void add_part(trace::FileWriter& file, const Opening& opening, Digester& d, std::uint64_t offset,
              const iovec& part, std::uint64_t size) {
  // Data is looked at from its own beginning to its end, wherever the length of a header has put it: headers
  // of an archive hold its name, which differs from rank to rank.
  bool data = size >= kData;
  bool begun = d.granule != 0 || d.granules != 0;
  if (offset != d.next || (begun && data == d.after_small)) restart(file, opening, d, offset);
  d.after_small = !data;
  const auto* bytes = static_cast<const unsigned char*>(part.iov_base);
  while (size) {
    std::uint64_t taken = add_piece(file, opening, d, bytes, size);
    bytes += taken;
    d.next += taken;
    size -= taken;
  }
}

Digester* digester_of(trace::FileWriter& file, Opening& opening) {
  if (opening.digester) return &digesters[opening.digester - 1];
  std::uint32_t index = digesters.take();
  if (index == digesters.kNone) {
    file.count(trace::Health::digests_skipped);
    return nullptr;
  }
  Digester& d = digesters[index];
  d.next = d.block_start = d.hash = d.words = 0;
  d.granule = d.granules = d.blocks = 0;
  d.after_small = false;
  opening.digester = index + 1;
  return &d;
}

}  // namespace

void digest(trace::FileWriter& file, Opening& opening, std::uint64_t offset, const iovec* parts, int count,
            std::uint64_t bytes) {
  Digester* d = digester_of(file, opening);
  for (int i = 0; d && i < count && bytes; ++i) {
    std::uint64_t size = std::min<std::uint64_t>(parts[i].iov_len, bytes);
    if (!size) continue;
    add_part(file, opening, *d, offset, parts[i], size);
    offset += size;
    bytes -= size;
  }
}

void finish_digest(trace::FileWriter& file, Opening& opening) {
  if (!opening.digester) return;
  std::uint32_t index = opening.digester - 1;
  end_block(file, opening, digesters[index], digesters[index].next);
  opening.digester = 0;
  digesters.release(index);
}

}  // namespace ddpscope::injector
