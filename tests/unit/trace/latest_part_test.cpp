// The latest part of a file: what is read of it, what is left out, and files that are cut off or damaged.
#include "trace/read/latest_part.h"

#include <fcntl.h>

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint64_t kMany = 200'000;  // records of 64 bytes: more than is read

TraceFile latest_of(Recording& recording) {
  auto trace = TraceFile::open(recording.file().path(), Extent::kLatest);
  if (!trace) throw std::runtime_error(trace.error().what);
  return std::move(*trace);
}

std::vector<std::uint64_t> counts_in(const TraceFile& trace) {
  std::vector<std::uint64_t> counts;
  for (const Record& record : all_records(trace)) counts.push_back(count_of(record));
  return counts;
}

LatestPart part_of(const std::filesystem::path& path, std::size_t bytes) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  LatestPart part = LatestPart::of(fd, bytes);
  ::close(fd);
  return part;
}

TEST(LatestPart, OfAShortFileIsAllOfIt) {
  Recording recording;
  for (std::uint64_t i = 0; i < 5'000; ++i) recording.close(recording.open_kept(recording.thread(), i));
  TraceFile latest = latest_of(recording);
  EXPECT_FALSE(latest.left_out_calls());
  EXPECT_EQ(counts_in(latest), counts_in(recording.read()));
}

TEST(LatestPart, OfALongFileIsItsBeginningAndItsEnd) {
  Recording recording;
  for (std::uint64_t i = 0; i < kMany; ++i) recording.close(recording.open_kept(recording.thread(), i));
  TraceFile latest = latest_of(recording);
  EXPECT_TRUE(latest.left_out_calls());
  EXPECT_TRUE(latest.damage().empty());
  std::vector<std::uint64_t> counts = counts_in(latest);
  ASSERT_LT(counts.size(), kMany / 2);
  EXPECT_EQ(counts.front(), 0u);
  EXPECT_EQ(counts.back(), kMany - 1);
  std::size_t gaps = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    ASSERT_LT(counts[i - 1], counts[i]);
    gaps += counts[i] != counts[i - 1] + 1;
  }
  EXPECT_EQ(gaps, 1u);
}

TEST(LatestPart, HoldsEveryCallThatHasNotReturned) {
  Recording recording;
  std::set<std::uint64_t> open;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    OpenRecord record = recording.open_kept(recording.thread(), i);
    if (i % (kMany / 4) == kMany / 8)
      open.insert(i);
    else
      recording.close(record);
  }
  std::set<std::uint64_t> found;
  for (const Record& record : all_records(latest_of(recording)))
    if (record.end == 0) found.insert(count_of(record));
  EXPECT_EQ(found, open);
}

TEST(LatestPart, HoldsTheLastCallsOfEveryThread) {
  Recording recording;
  ThreadWriter quiet{};
  recording.close(recording.open_bulk(quiet, 7));
  for (std::uint64_t i = 0; i < kMany; ++i) recording.close(recording.open_bulk(recording.thread(), i));
  std::vector<Record> records = all_records(latest_of(recording));
  EXPECT_LT(records.size(), kMany / 2);
  std::set<std::uint16_t> threads;
  for (const Record& record : records) threads.insert(record.thread);
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_FALSE(latest_of(recording).left_out_calls()) << "the ring holds no collective";
}

TEST(LatestPart, SeesWhatWasWrittenSince) {
  Recording recording;
  recording.close(recording.open_kept(recording.thread(), 0));
  EXPECT_EQ(counts_in(latest_of(recording)).size(), 1u);
  OpenRecord inside = recording.open_kept(recording.thread(), 1);
  std::vector<Record> records = all_records(latest_of(recording));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records.back().end, 0u);
  recording.close(inside);
  EXPECT_NE(all_records(latest_of(recording)).back().end, 0u);
}

// Its header may know of more than was there when the reader asked for the size.
TEST(LatestPart, OfAFileThatGrowsIsNotDamaged) {
  Recording recording;
  const std::filesystem::path path = recording.file().path();
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 4 * kMany && !enough; ++i)
      recording.close(recording.open_kept(recording.thread(), i));
  });
  for (Extent extent : {Extent::kLatest, Extent::kAll})
    for (int i = 0; i < 15; ++i) {
      auto trace = TraceFile::open(path, extent);
      ASSERT_TRUE(trace.ok());
      for (const std::string& sentence : trace->damage())
        EXPECT_FALSE(sentence.starts_with("cut off")) << sentence;
    }
  enough = true;
  writer.join();
}

TEST(LatestPart, OfAFileThatIsCutOff) {
  Recording recording;
  for (std::uint64_t i = 0; i < kMany; ++i) recording.close(recording.open_kept(recording.thread(), i));
  std::filesystem::path path = recording.file().path();
  std::size_t whole = std::filesystem::file_size(path);
  EXPECT_TRUE(part_of(path, 0).bytes().empty());
  EXPECT_TRUE(part_of(path, kHeaderBytes - 1).bytes().empty());
  for (std::size_t bytes : {whole - 1, whole / 2 + 33, whole / 2, kHeaderBytes + 1, kHeaderBytes}) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_EQ(part_of(path, bytes).bytes().size(), bytes);
    EXPECT_EQ(part_of(path, whole).bytes().size(), whole) << "it was longer when its size was asked for";
    auto trace = TraceFile::open(path, Extent::kLatest);
    ASSERT_TRUE(trace.ok());
    for (const Record& record : all_records(*trace)) EXPECT_LT(count_of(record), kMany);
  }
}

TEST(LatestPart, OfAFileWithADamagedChunk) {
  Recording recording;
  for (std::uint64_t i = 0; i < 5'000; ++i) recording.close(recording.open_kept(recording.thread(), i));
  std::size_t before = counts_in(latest_of(recording)).size();
  std::fstream file(recording.file().path(), std::ios::in | std::ios::out | std::ios::binary);
  // The first chunk with records: what becomes of its header is what a reader steps over.
  std::size_t at = kHeaderBytes;
  for (ChunkHeader chunk{}; chunk.kind != ChunkKind::kRecords; at += chunk.bytes) {
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(&chunk), sizeof(chunk));
    ASSERT_EQ(chunk.magic, kChunkMagic);
    if (chunk.kind == ChunkKind::kRecords) break;
  }
  file.seekp(static_cast<std::streamoff>(at));
  file << std::string(sizeof(ChunkHeader), '\xff');
  file.close();
  TraceFile latest = latest_of(recording);
  EXPECT_FALSE(latest.damage().empty());
  std::vector<std::uint64_t> counts = counts_in(latest);
  EXPECT_LT(counts.size(), before);
  EXPECT_EQ(counts.back(), 4'999u);
}

}  // namespace
}  // namespace ddpscope::trace
