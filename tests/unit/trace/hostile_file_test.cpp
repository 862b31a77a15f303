// Reading treats its bytes as hostile: cut off, newer, somebody else's, damaged.
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/unit/trace/recording.h"
#include "trace/schema.h"

namespace ddpscope::trace {
namespace {

using Bytes = std::vector<unsigned char>;

// A small file that has everything in it: kept and bulk records, a stack, strings, items, the schema.
Bytes sample() {
  Recording recording(2 * kPageBytes);
  FileWriter& file = recording.file();
  ThreadWriter& thread = recording.thread();
  thread.write_schema(file, kSchemaText, kSchemaBytes);
  StackFrame frame{FrameKind::kPython, thread.intern(file, "train.py"), thread.intern(file, "main"), 9, 0};
  std::uint32_t stack = thread.intern_stack(file, &frame, 1);
  for (std::uint64_t i = 0; i < 40; ++i) {
    recording.close(thread.open<Call::ncclBroadcast>(file, {}, next_tick(), stack));
    recording.close(recording.open_bulk(thread, i));
    thread.add_item(file, {i, 1, 1});
    DeviceWork work{next_tick(), 5, 3, i, 7, 1, DeviceWorkKind::kKernel, 0};
    thread.add_device_work(file, work, i % 2 ? Budget::kKept : Budget::kBulk);
  }
  recording.open_kept(thread, 99);
  std::ifstream in(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
void poke(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

// Looks at every byte that a reader can reach.
std::uint64_t walk(const TraceFile& trace) {
  std::uint64_t sum = trace.schema().size() + trace.host().size();
  for (const RecordSpan& span : trace.records())
    for (const Record& record : span.records) {
      sum += record.begin + record.end + record.payload[kPayloadBytes - 1];
      for (const StackFrame& frame : trace.stack(record.stack))
        sum += frame.line + trace.string(frame.file).size();
    }
  for (const ItemSpan& span : trace.items())
    for (const ItemRead& item : span.items) sum += item.offset;
  for (const DeviceSpan& span : trace.device_work())
    for (const DeviceWork& work : span.work) sum += work.begin + work.subject;
  return sum;
}

std::size_t first_chunk_of(const Bytes& bytes, ChunkKind kind) {
  for (std::size_t at = kHeaderBytes; at + sizeof(ChunkHeader) <= bytes.size(); at += kPageBytes) {
    ChunkHeader chunk;
    std::memcpy(&chunk, bytes.data() + at, sizeof(chunk));
    if (chunk.magic == kChunkMagic && chunk.kind == kind) return at;
  }
  ADD_FAILURE() << "the sample has no such chunk";
  return 0;
}

TEST(Hostile, SampleIsSound) {
  auto trace = TraceFile::parse(sample(), "sample");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->damage().empty());
  EXPECT_EQ(all_records(*trace).size(), 81u);
  EXPECT_EQ(trace->string(trace->stack(1)[0].file), "train.py");
}

TEST(Hostile, CutOffAnywhereKeepsWhatIsThere) {
  Bytes whole = sample();
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto trace =
        TraceFile::parse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "cut");
    if (size < kHeaderBytes) {
      ASSERT_FALSE(trace) << size;
      EXPECT_NE(trace.error().what.find(size ? "cut off inside its header" : "is empty"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(trace) << size;
    EXPECT_FALSE(trace->damage().empty()) << size;
    std::size_t records = all_records(*trace).size();
    EXPECT_GE(records, most) << size;
    most = records;
    walk(*trace);
  }
  EXPECT_EQ(most, 81u);
}

TEST(Hostile, NewerVersionIsRefusedPolitely) {
  Bytes bytes = sample();
  poke(bytes, offsetof(FileHeader, version), kVersion + 1);
  auto trace = TraceFile::parse(bytes, "new.ddps");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().what, "the trace file has format version " + std::to_string(kVersion + 1) +
                                    ", this ddpscope reads up to " + std::to_string(kVersion));
  EXPECT_EQ(trace.error().where, "new.ddps");
  EXPECT_FALSE(trace.error().hint.empty());
}

TEST(Hostile, FileOfSomebodyElseIsNotOurs) {
  Bytes bytes(10'000, 'x');
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().what, "not a ddpscope trace file");
  auto text = TraceFile::parse(Bytes{'#', '!', '/', 'b', 'i', 'n', '/', 's', 'h'}, "x");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "not a ddpscope trace file");
}

TEST(Hostile, DamagedHeaderIsRefused) {
  for (std::size_t field : {offsetof(FileHeader, header_bytes), offsetof(FileHeader, record_bytes),
                            offsetof(FileHeader, clock), offsetof(FileHeader, version)}) {
    Bytes bytes = sample();
    poke(bytes, field, std::uint32_t{0});
    auto trace = TraceFile::parse(bytes, "x");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().what, "the trace file's header is damaged");
  }
}

TEST(Hostile, OverwrittenChunkIsSkippedAndTold) {
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kBulk);
  for (std::size_t i = 0; i < kPageBytes; ++i) bytes[at + i] = 0xEE;
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->damage().size(), 1u);
  EXPECT_EQ(trace->damage()[0], "unreadable bytes at offset " + std::to_string(at));
  EXPECT_EQ(all_records(*trace).size(), 41u);
}

TEST(Hostile, ChunkOfAKindThatIsNotKnownIsSkippedAndTold) {
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kBulk);
  poke(bytes, at + offsetof(ChunkHeader, kind), std::uint8_t{200});
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->damage().size(), 1u);
  EXPECT_EQ(all_records(*trace).size(), 41u);
}

// Records of one chunk after all but `sound` of them were given to a thread that did not write it.
std::size_t left_of_kept_records(std::size_t sound) {
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kRecords) + sizeof(ChunkHeader);
  for (std::size_t i = sound; i < 41; ++i)
    poke(bytes, at + i * sizeof(Record) + offsetof(Record, thread), std::uint16_t{77});
  auto trace = TraceFile::parse(bytes, "x");
  EXPECT_TRUE(trace && trace->damage().size() == 1);
  std::size_t left = 0;
  for (const RecordSpan& span : trace->records())
    if (span.kind == ChunkKind::kRecords)
      for (const Record& record : span.records) left += record.call != 0;
  return left;
}

TEST(Hostile, WhatFitsByChanceInAChunkOfSomethingElseIsLeftOutToo) {
  EXPECT_EQ(left_of_kept_records(11), 11u);
  EXPECT_EQ(left_of_kept_records(10), 0u);
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kDeviceWork) + sizeof(ChunkHeader);
  for (std::size_t i = 0; i < 16; ++i)
    poke(bytes, at + i * sizeof(DeviceWork) + offsetof(DeviceWork, kind), std::uint8_t{255});
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->damage().size(), 1u);
  std::size_t left = 0;
  for (const DeviceSpan& span : trace->device_work()) left += span.work.size();
  EXPECT_EQ(left, 20u);  // the other chunk's
}

TEST(Hostile, CountersBeyondTheirChunkAreCutToIt) {
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kRecords);
  poke(bytes, at + offsetof(ChunkHeader, used), ~std::uint32_t{0});
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->records().at(0).records.size(), (kPageBytes - sizeof(ChunkHeader)) / sizeof(Record));
}

TEST(Hostile, TableEntryBeyondItsChunkEndsTheTable) {
  Bytes bytes = sample();
  std::size_t at = first_chunk_of(bytes, ChunkKind::kTables) + sizeof(ChunkHeader);
  poke(bytes, at + offsetof(TableEntry, bytes), ~std::uint32_t{0});
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->damage().size(), 1u);
}

TEST(Hostile, FlippedBytesNeverLeadOutside) {
  const Bytes whole = sample();
  std::mt19937 random(1);
  for (int round = 0; round < 3'000; ++round) {
    Bytes bytes = whole;
    for (int flips = 0; flips < 8; ++flips) {
      // Half of them in headers of the file and of chunks, where they hurt most.
      std::size_t at = random() % bytes.size();
      if (flips % 2) at = at / kPageBytes * kPageBytes + random() % sizeof(ChunkHeader);
      bytes[at] = static_cast<unsigned char>(random());
    }
    auto trace = TraceFile::parse(std::move(bytes), "flipped");
    if (trace) walk(*trace);
  }
}

TEST(Hostile, DamageIsToldAFewTimesOnly) {
  Bytes bytes = sample();
  bytes.resize(bytes.size() + 100 * kPageBytes, 0xEE);
  auto trace = TraceFile::parse(bytes, "x");
  ASSERT_TRUE(trace);
  EXPECT_LE(trace->damage().size(), 16u);
}

TEST(Hostile, WhatIsNoRegularFileIsNotOpened) {
  TemporaryFolder folder;
  std::filesystem::path fifo = folder.path() / "fifo.ddps";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {fifo, folder.path(), std::filesystem::path("/dev/zero")}) {
    auto trace = TraceFile::open(path);
    ASSERT_FALSE(trace) << path;
    EXPECT_EQ(trace.error().what, "cannot read the trace file: it is not a regular file");
  }
  auto missing = TraceFile::open(folder.path() / "none.ddps");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what, "cannot read the trace file: No such file or directory");
}

}  // namespace
}  // namespace ddpscope::trace
