// Chunks: how they grow, what the ring may overwrite and what it may not.
#include <set>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint64_t kRecordsPerPage = (kPageBytes - sizeof(ChunkHeader)) / sizeof(Record);
constexpr std::uint64_t kSmallRing = 64 * 1024;

TEST(Chunks, FirstIsAPageAndEachNextTwiceAsLarge) {
  Recording recording;
  for (std::uint64_t i = 0; i < 20'000; ++i) recording.close(recording.open_kept(recording.thread(), i));
  TraceFile trace = recording.read();
  std::size_t expected = kPageBytes;
  for (std::size_t i = 0; i + 1 < trace.records().size(); ++i) {
    EXPECT_EQ(trace.records()[i].records.size(), (expected - sizeof(ChunkHeader)) / sizeof(Record));
    expected = std::min(expected * 2, kMaxChunkBytes);
  }
  EXPECT_EQ(expected, kMaxChunkBytes);
}

TEST(Chunks, KeptRecordsCostAtMost68Bytes) {
  Recording recording;
  constexpr std::uint64_t kRecords = 200'000;
  for (std::uint64_t i = 0; i < kRecords; ++i) recording.close(recording.open_kept(recording.thread(), i));
  EXPECT_LE(recording.file().header().file_bytes, 68 * kRecords);
}

TEST(Ring, StaysWithinItsCapAndCountsWhatItOverwrites) {
  Recording recording(kSmallRing);
  constexpr std::uint64_t kRecords = 50'000;
  for (std::uint64_t i = 0; i < kRecords; ++i) recording.close(recording.open_bulk(recording.thread(), i));
  TraceFile trace = recording.read();
  std::vector<Record> records = all_records(trace);
  EXPECT_EQ(records.size() + recording.health(Health::bulk_records_overwritten), kRecords);
  EXPECT_EQ(recording.health(Health::bulk_records_lost), 0u);
  EXPECT_LE(trace.header().file_bytes, kHeaderBytes + kSmallRing);
  EXPECT_EQ(bytes_of(records.back()), kRecords - 1);
  for (std::size_t i = 1; i < records.size(); ++i) EXPECT_LT(records[i - 1].begin, records[i].begin);
  EXPECT_TRUE(trace.records().front().recycled);
}

TEST(Ring, KeptRecordsAreNeverOverwritten) {
  Recording recording(kSmallRing);
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    recording.close(recording.open_bulk(recording.thread(), i));
    if (i % 10 == 0) recording.close(recording.open_kept(recording.thread(), i / 10));
  }
  std::uint64_t next = 0;
  for (const Record& record : all_records(recording.read())) {
    if (record.call == static_cast<std::uint16_t>(Call::ncclAllReduce)) {
      EXPECT_EQ(count_of(record), next++);
    }
  }
  EXPECT_EQ(next, 3'000u);
}

TEST(Ring, ChunkWithAnOpenRecordIsNeverTaken) {
  Recording recording(kSmallRing);
  std::vector<OpenRecord> open;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    OpenRecord record = recording.open_bulk(recording.thread(), i);
    if (i < 5 * kRecordsPerPage && i % kRecordsPerPage == 0)
      open.push_back(record);
    else
      recording.close(record);
  }
  std::set<std::uint64_t> still_inside;
  for (const Record& record : all_records(recording.read()))
    if (record.end == 0) still_inside.insert(bytes_of(record));
  EXPECT_EQ(still_inside, (std::set<std::uint64_t>{0, kRecordsPerPage, 2 * kRecordsPerPage,
                                                   3 * kRecordsPerPage, 4 * kRecordsPerPage}));
  // Once they are closed, their chunks are the oldest and go first.
  for (const OpenRecord& record : open) recording.close(record);
  for (std::uint64_t i = 0; i < 4'000; ++i)
    recording.close(recording.open_bulk(recording.thread(), 1'000'000 + i));
  for (const Record& record : all_records(recording.read())) EXPECT_NE(record.end, 0u);
}

TEST(Ring, ThreadThatNoChunkIsLeftForStartsItsOwnAnew) {
  Recording recording(2 * kPageBytes);
  ThreadWriter other{};
  recording.close(recording.open_bulk(other, 1));  // keeps one of the two pages for ever
  for (std::uint64_t i = 0; i < 1'000; ++i) recording.close(recording.open_bulk(recording.thread(), 100 + i));
  EXPECT_EQ(recording.health(Health::bulk_records_lost), 0u);
  std::vector<Record> records = all_records(recording.read());
  EXPECT_EQ(bytes_of(records.back()), 1'099u);
  EXPECT_EQ(records.size() + recording.health(Health::bulk_records_overwritten), 1'001u);
}

TEST(Ring, RecordsAreCountedAsLostWhileAllChunksAreOpen) {
  Recording recording(kPageBytes);
  OpenRecord inside = recording.open_bulk(recording.thread(), 1);
  for (std::uint64_t i = 0; i < 1'000; ++i) recording.close(recording.open_bulk(recording.thread(), 100 + i));
  EXPECT_EQ(recording.health(Health::bulk_records_lost), 1'001 - kRecordsPerPage);
  EXPECT_EQ(bytes_of(all_records(recording.read()).at(0)), 1u);
  recording.close(inside);
  EXPECT_TRUE(recording.open_bulk(recording.thread(), 2));
}

TEST(Ring, ChunksOfAThreadThatEndedAreTaken) {
  Recording recording(kSmallRing);
  for (int thread = 0; thread < 100; ++thread) {
    ThreadWriter writer{};
    for (std::uint64_t i = 0; i < 100; ++i) recording.close(recording.open_bulk(writer, i));
    writer.leave(recording.file());
  }
  EXPECT_EQ(recording.health(Health::bulk_records_lost), 0u);
  EXPECT_LE(recording.file().header().file_bytes, kHeaderBytes + kSmallRing);
}

TEST(Ring, NoRecordOfAnEarlierUseShowsThrough) {
  Recording recording(2 * kPageBytes);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    payload::Copy full{~0ull, ~0ull, i, ~0ull, 1, 1, 1, 1};
    recording.close(recording.thread().open<Call::cudaMemcpy>(recording.file(), full, next_tick()));
  }
  recording.close(recording.thread().open<Call::ncclGetVersion>(recording.file(), {}, next_tick()));
  Record last = all_records(recording.read()).back();
  for (unsigned char byte : last.payload) EXPECT_EQ(byte, 0);
}

}  // namespace
}  // namespace ddpscope::trace
