// The merged file, byte by byte: a header page, then data as it was written, then the sections that the table
// at the end lists. docs/merged-file.md explains it. Little-endian.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::merged {

constexpr char kMagic[8] = {'D', 'D', 'P', 'S', 'M', 'R', 'G', 'D'};
constexpr std::uint32_t kVersion = 2;  // raised when an old reader would misread a new file
constexpr std::size_t kPage = 4096;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // of this structure
  std::uint64_t file_bytes;    // a shorter file was cut off
  std::uint64_t table_offset;  // of the sections
  std::uint32_t table_entries;
  std::uint32_t unused;
  std::uint64_t table_checksum;   // XXH3, as all checksums
  std::uint64_t header_checksum;  // of what stands before it
};
static_assert(sizeof(Header) == 56);

enum class SectionId : std::uint32_t {
  kFacts = 1,     // job, hosts, ranks, processes
  kTracks = 2,    // tracks, names, and which occur where
  kFindings = 3,  // findings, coverage, first failure, marks, accesses of their files
  kCommunicators = 4,
  kChunkIndex = 5,          // offsets of event chunks, track after track
  kBlockIndex = 6,          // likewise of payload blocks: BlockEntry
  kCollectiveIndex = 7,     // likewise of collective blocks: BlockEntry
  kProcessIndex = 8,        // strings, stacks and schema of each process: BlockEntry
  kPyramid = 9,             // Node after Node: coarsest level of all tracks first. Not checked at opening
  kCollectivePyramid = 10,  // likewise CollectiveNode
  kCells = 11,              // summaries by column
  kData = 12,               // chunks and blocks. Not checked at opening
  kInfo = 13,               // what `info` says of the trace: one BlockEntry, or none
  kSummary = 14,  // what `diff` compares, as JSON: likewise. None of a trace that is read in part only
};

struct SectionEntry {
  SectionId id;
  std::uint32_t checked;  // 1: the checksum holds
  std::uint64_t offset;   // a multiple of 64
  std::uint64_t bytes;
  std::uint64_t checksum;
};
static_assert(sizeof(SectionEntry) == 32);

// Something packed by zstd, at `offset` in the file.
struct BlockEntry {
  std::uint64_t offset;
  std::uint32_t packed_bytes;
  std::uint32_t bytes;  // unpacked
};
static_assert(sizeof(BlockEntry) == 16);

// What is kept of an event beside its times and name: of a call the record without its times (ticks in its
// payload turned into ns since the job's start), of device work DeviceSlot, of a step StepSlot.
constexpr std::size_t kSlotBytes = 48;

struct CallSlot {
  std::uint16_t call;
  std::uint16_t thread;
  std::uint32_t stack;
  unsigned char payload[40];
};
static_assert(sizeof(CallSlot) == kSlotBytes);

struct DeviceSlot {
  std::uint64_t subject;   // as in trace::DeviceWork
  std::int64_t called_ns;  // begin of the call that enqueued it; kTimeLimit of model/job.h: not known
  std::uint32_t stream;
  std::uint16_t thread;  // that called
  std::uint8_t kind;     // trace::DeviceWorkKind
  std::uint8_t device;
  unsigned char unused[24];
};
static_assert(sizeof(DeviceSlot) == kSlotBytes);

struct StepSlot {
  std::uint64_t number;   // from 0
  std::uint64_t of_step;  // of a micro-batch: its place in the step, from 0
  unsigned char unused[32];
};
static_assert(sizeof(StepSlot) == kSlotBytes);

constexpr std::size_t kChunkEvents = 4096;         // a multiple of kLeafEvents * kFanOut
constexpr std::size_t kBlockEvents = 2048;         // slots in a payload block
constexpr std::size_t kCollectiveBlockCalls = 64;  // sequence numbers in a collective block

}  // namespace ddpscope::merged
