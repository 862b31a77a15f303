// A merged file of any size, drawn from a seed and written through collector/merged/writer.h: for benchmarks
// of who reads it, and for tests that must know what stands where.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "trace/result.h"

namespace ddpscope::tests {

struct MergedShape {
  std::uint64_t events = 1'000'000;  // on all tracks together, rounded to a multiple of the rows
  std::uint32_t rows = 256;          // tracks
  std::uint32_t tracks = 4;          // of a rank: host, files, and streams
  std::uint32_t ranks_per_host = 8;
  std::uint32_t findings = 1;
  std::uint64_t seed = 1;
};

// Evidence that was drawn: an event of a finding.
struct DrawnEvidence {
  std::uint32_t finding;
  std::int32_t rank;
  std::int64_t begin_ns, end_ns;
};

struct GeneratedMerged {
  std::uint64_t events = 0;
  std::int32_t ranks = 0;
  std::int64_t duration_ns = 0;
  std::vector<DrawnEvidence> evidence;
};

// Equal shapes give equal bytes. Memory does not grow with the events. Errors: as Writer.
Result<GeneratedMerged> generate_merged(const MergedShape& shape, const std::filesystem::path& file);

}  // namespace ddpscope::tests
