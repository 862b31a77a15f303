// Digests of what is written to files: two ranks that write the same content show the same row of digests.
//
// One line of 64 bytes in each KiB is looked at. Where a line's own hash says so, a block ends: blocks are
// cut by content and not by offset, so the same content compares equal at another place in the file, and
// however it was cut into writes. Small parts beside large ones are blocks apart: archives carry their own
// name in front of each tensor, which differs from rank to rank. Blocks are 64 KiB on the average and grow as
// a file gets longer, so that rows stay below a thousandth of the bytes.
#pragma once
#include <sys/uio.h>

#include <atomic>
#include <cstdint>

#include "injector/files/opening.h"
#include "injector/files/pool.h"

namespace ddpscope::injector {

struct Digester {
  static constexpr std::uint32_t kLine = 64;

  std::atomic<std::uint32_t> references{};
  std::uint64_t next{};         // offset at which the writes go on
  std::uint64_t block_start{};  // offset
  std::uint64_t hash{};         // of the block's lines
  std::uint64_t words{};        // a bit for each word seen in them, by its hash
  std::uint32_t granule{};      // bytes gone in the current KiB
  std::uint32_t granules{};     // begun in the block
  std::uint32_t blocks{};       // written to the trace
  bool after_small{};           // the last part was a header, not data
  unsigned char line[kLine]{};
};

// Bytes that were written at `offset`, one part after another. As own work only, by one thread at a time.
void digest(trace::FileWriter& file, Opening& opening, std::uint64_t offset, const iovec* parts, int count,
            std::uint64_t bytes);
void finish_digest(trace::FileWriter& file, Opening& opening);

}  // namespace ddpscope::injector
