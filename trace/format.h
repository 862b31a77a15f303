// The trace file, byte by byte: one file per process, a header page, then chunks. docs/trace-format.md
// explains it. Little-endian, x86-64. Everything that is shared between the process that writes and one that
// reads while it still runs is written in this order: content first, then the counter that makes it visible.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trace/payloads.h"

namespace ddpscope::trace {

constexpr char kMagic[8] = {'D', 'D', 'P', 'S', 'C', 'O', 'P', 'E'};
constexpr std::uint32_t kVersion = 1;  // raised when an old reader would misread a new file
constexpr char kFileSuffix[] = ".ddps";
// Of an empty folder, HOST.PID.START.ERROR.RUN.unrecorded: that process could not make its file, by this
// error number; RUN is its DDPSCOPE_RUN, or 0. To make a folder takes no descriptor.
constexpr char kUnrecordedSuffix[] = ".unrecorded";

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHeaderBytes = kPageBytes;
constexpr std::size_t kMaxChunkBytes = 256 * 1024;

// One call. Written before the call is made, closed after: end == 0 means that it has not returned.
struct Record {
  std::uint64_t begin;   // ticks
  std::uint64_t end;     // ticks, 0 while inside
  std::uint16_t call;    // Call
  std::uint16_t thread;  // ThreadNumber within the process, from 1
  std::uint32_t stack;   // id in the stack table, 0 for none
  unsigned char payload[kPayloadBytes];
};
static_assert(sizeof(Record) == 64);

enum class ClockKind : std::uint32_t { kTsc = 1, kMonotonicNs = 2 };  // what a tick is

// The same instant on the clocks of the host; ticks to nanoseconds is the line through two of them.
struct ClockTuple {
  std::uint64_t ticks;
  std::uint64_t monotonic_ns;
  std::uint64_t realtime_ns;
};

constexpr std::size_t kHealthCounters = 64;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t record_bytes;
  ClockKind clock;
  std::uint64_t tick_hz;  // what the processor says of its clock, 0 if it does not
  std::uint64_t host_id;  // equal for all processes of one running kernel (hash of boot id)
  char host[64];          // its name, zero-terminated
  std::int32_t pid;
  std::int32_t parent_pid;
  std::uint64_t start_time;  // of the process, clock ticks since boot (/proc/PID/stat field 22)
  std::uint64_t parent_start_time;
  ClockTuple opened;         // when the file was opened
  ClockTuple latest;         // when a chunk was last opened, or the process ended
  std::uint64_t file_bytes;  // offset at which the next chunk will be reserved
  std::uint64_t ring_bytes;  // cap of the bulk budget
  std::uint64_t bulk_bytes;  // of it in use
  std::uint64_t chunks;      // opened so far; numbers them
  std::uint32_t threads;     // met so far; numbers them
  std::uint32_t strings;     // ids given so far
  std::uint32_t stacks;
  std::uint32_t files;  // openings numbered so far
  std::uint32_t ended;  // 1 once the process passed an exit path that was seen
  std::int32_t exit_code;
  std::uint64_t health[kHealthCounters];
  std::uint64_t content_bytes;  // end of the last chunk that was opened: a shorter file was cut off
  std::uint64_t pid_namespace;  // in which pid and parent_pid hold; 0 if it is not known
  std::uint64_t whole_chunks;   // of `chunks`, those whose headers are written; 0 if nobody counted
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);

enum class ChunkKind : std::uint8_t {
  kRecords = 1,     // Record after Record, the kept budget
  kBulk = 2,        // the same, a ring: the chunk may have been used before
  kTables = 3,      // TableEntry after TableEntry: strings, stacks, the schema
  kItems = 4,       // ItemRead after ItemRead, capped
  kFolded = 5,      // FoldedWord after FoldedWord: regular calls, at 8 bytes each
  kDeviceWork = 6,  // DeviceWork after DeviceWork (device_work.h), never overwritten: collectives
  kDeviceRing = 7,  // the same, a ring with kBulk: kernels, copies, fills
};
constexpr std::size_t kChunkKinds = 8;
// Whether a chunk of this kind belongs to the ring, which may have taken it before.
constexpr bool in_ring(ChunkKind kind) { return kind == ChunkKind::kBulk || kind == ChunkKind::kDeviceRing; }

constexpr std::uint32_t kChunkMagic = 0x4B4E4843;  // "CHNK"

struct ChunkHeader {
  std::uint32_t magic;
  ChunkKind kind;
  std::uint8_t signatures;   // kFolded: records at the chunk's end
  std::uint16_t thread;      // its only writer
  std::uint32_t bytes;       // with this header; a multiple of the page
  std::uint32_t used;        // bytes after this header that are written; kFolded: and kCallOpen
  std::uint32_t generation;  // times the chunk was taken anew
  std::uint32_t open;        // records in it that have no end yet, or that another thread writes to later
  std::uint64_t number;      // order of opening in the process
  std::uint64_t offset;      // its own place in the file: tells a chunk from bytes that look like one
  ClockTuple opened;
};
static_assert(sizeof(ChunkHeader) == 64);

enum class TableKind : std::uint16_t {
  kString = 1,  // bytes, not terminated
  kStack = 2,   // StackFrame after StackFrame, innermost first
  kSchema = 3,  // text: the calls and payloads that the writer knew
};

struct TableEntry {
  std::uint32_t id;  // from 1, per kind
  TableKind kind;
  std::uint16_t unused;
  std::uint32_t bytes;  // that follow; the next entry starts at the next multiple of 8
  std::uint32_t unused2;
};
static_assert(sizeof(TableEntry) == 16);

enum class FrameKind : std::uint32_t { kPython = 1, kNative = 2 };

struct StackFrame {
  FrameKind kind;
  std::uint32_t file;      // string id: the source file, or the module
  std::uint32_t function;  // string id; native: the module's build id in hexadecimal, 0 if it has none
  std::uint32_t line;      // Python line
  std::uint64_t address;   // native: offset in the module
};
static_assert(sizeof(StackFrame) == 24);

// A further read of a file that this process never writes, in little space. Order in the chunk is order in
// the thread.
struct ItemRead {
  std::uint64_t offset;  // in the file
  std::uint32_t bytes;
  std::uint32_t file;  // number of its opening, or kUnkeptFile and the low 31 bits of its path's hash_bytes()
};
constexpr std::uint32_t kUnkeptFile = 0x8000'0000;
static_assert(sizeof(ItemRead) == 16);

// Regular calls: they recur with the same arguments, so that only their times (and sequence numbers) are new.
// A kFolded chunk holds
//   a Record: the call that the thread is in, if kCallOpen is set in `used`. A process that is killed there
//     leaves it like any other open record; when the call returns, its word and the flag change in one store;
//   FoldedWords up to `used`;
//   at the chunk's end, the first one last, `signatures` Records: what the calls that name them have in
//   common.
//     Their `end` is 1 if the payload is a Collective, whose sequence counts on per communicator.
// Times are in units of 16 ticks, begins rounded up and ends rounded down: a call of at least 16 ticks stays
// within its true bounds, so the order within its thread is kept.
constexpr std::uint32_t kCallOpen = 1;
constexpr unsigned kFoldedTickBits = 4;

// The lowest 8 bits say what the rest is.
using FoldedWord = std::uint64_t;
constexpr unsigned kMaxSignatures = 253;
enum class FoldedTag : std::uint8_t {
  // Below kMaxSignatures: a call with this signature. Bits 8 to 31 are its duration, 32 to 63 its begin since
  // the begin of the call before it in the chunk.
  kDuration = 253,  // of the next call, if it needs more: 56 bits
  kSequence = 254,  // bits 32 to 63: of the next call on the communicator that bits 8 to 31 name
  kTime = 255,      // 56 bits: from here the next call's begin counts
};

}  // namespace ddpscope::trace
