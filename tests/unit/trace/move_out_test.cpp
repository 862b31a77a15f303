// A full chunk of kept records is written to the end of the file and used again.
#include <fstream>
#include <iterator>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint64_t kRecordsPerChunk = (kMaxChunkBytes - sizeof(ChunkHeader)) / sizeof(Record);

class MoveOut : public testing::Test {
 protected:
  OpenRecord write(std::uint64_t records) {
    OpenRecord last;
    for (std::uint64_t i = 0; i < records; ++i) {
      last = recording_.open_kept(recording_.thread(), next_++);
      recording_.close(last);
    }
    return last;
  }
  // Until the first of a chunk of full size is written.
  OpenRecord reach_full_size() {
    OpenRecord last = write(1);
    while (last.chunk->bytes < kMaxChunkBytes) last = write(1);
    return last;
  }
  std::vector<unsigned char> bytes() {
    std::ifstream file(recording_.file().path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_all(const TraceFile& trace, std::uint64_t most = ~0ull) const {
    EXPECT_TRUE(trace.damage().empty());
    std::vector<Record> records = all_records(trace);
    ASSERT_EQ(records.size(), std::min(next_, most));
    for (std::uint64_t i = 0; i < records.size(); ++i) ASSERT_EQ(count_of(records[i]), i);
  }
  void expect_all() const { expect_all(recording_.read()); }

  Recording recording_;
  std::uint64_t next_ = 0;
};

TEST_F(MoveOut, ChunkOfFullSizeIsUsedAgain) {
  ChunkHeader* chunk = reach_full_size().chunk;
  EXPECT_EQ(write(5 * kRecordsPerChunk).chunk, chunk);
  expect_all();
  TraceFile trace = recording_.read();
  for (const RecordSpan& span : trace.records()) EXPECT_FALSE(span.recycled);
}

TEST_F(MoveOut, ChunkWithAnOpenRecordStays) {
  reach_full_size();
  OpenRecord open = recording_.open_kept(recording_.thread(), next_++);
  EXPECT_NE(write(kRecordsPerChunk).chunk, open.chunk);
  recording_.close(open);
  EXPECT_EQ(open.record->end != 0, true);
  write(3 * kRecordsPerChunk);
  expect_all();
}

TEST_F(MoveOut, PinnedRecordKeepsItsAddress) {
  OpenRecord pinned = reach_full_size();
  ThreadWriter::pin(pinned);
  std::uint64_t count = payload_of<payload::Collective>(*pinned.record).count;
  write(3 * kRecordsPerChunk);
  EXPECT_EQ(payload_of<payload::Collective>(*pinned.record).count, count);
  expect_all();
}

TEST_F(MoveOut, RecordThatWasMovedIsNotOpenedAnew) {
  OpenRecord earlier = reach_full_size();
  EXPECT_TRUE(recording_.thread().resume(recording_.file(), earlier));
  recording_.close(earlier);
  write(kRecordsPerChunk);
  EXPECT_FALSE(recording_.thread().resume(recording_.file(), earlier));
  EXPECT_FALSE(recording_.thread().reopen(recording_.file(), Call::ncclAllGather, 0));
  expect_all();
}

// The states that a process can be killed in: between the copy's end and the reset of the chunk, and before
// the copy's `used` was written.
TEST_F(MoveOut, ChunkThatIsThereTwiceIsReadOnce) {
  OpenRecord first = reach_full_size();
  std::uint64_t home = first.chunk->offset;
  write(kRecordsPerChunk - 1);
  std::vector<unsigned char> before = bytes();
  write(1);
  std::vector<unsigned char> after = bytes();
  ASSERT_EQ(after.size(), before.size() + kMaxChunkBytes);
  std::copy_n(before.begin() + static_cast<long>(home), kMaxChunkBytes,
              after.begin() + static_cast<long>(home));
  auto copied = TraceFile::parse(after, "copied");
  ASSERT_TRUE(copied);
  expect_all(*copied, next_ - 1);

  auto* copy = reinterpret_cast<ChunkHeader*>(after.data() + before.size());
  ASSERT_EQ(copy->used, kRecordsPerChunk * sizeof(Record));
  copy->used = 0;
  auto copying = TraceFile::parse(after, "copying");
  ASSERT_TRUE(copying);
  expect_all(*copying, next_ - 1);
}

void write_much(Recording& recording, int ready) {
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    recording.close(recording.open_kept(recording.thread(), i));
    if (i == 10'000 && write(ready, "x", 1) != 1) _exit(1);
  }
}

TEST(MoveOutKilled, NothingIsLostOrTwice) {
  for (useconds_t delay_us = 0; delay_us < 20'000; delay_us += 377) {
    Recording recording;
    ASSERT_NO_FATAL_FAILURE(kill_in_the_midst(delay_us, [&](int ready) { write_much(recording, ready); }));
    TraceFile trace = recording.read();
    for (const std::string& sentence : trace.damage()) ADD_FAILURE() << sentence;
    std::uint64_t next = 0;
    for (const Record& record : all_records(trace)) ASSERT_EQ(count_of(record), next++);
    EXPECT_GT(next, 10'000u);
  }
}

}  // namespace
}  // namespace ddpscope::trace
