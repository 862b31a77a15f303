// A full disk or a limit on file sizes: the job goes on, what is lost is counted, no signal is sent.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/tools/small_disk.h"
#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

using tests::exit_code_of;
using tests::kNotAllowed;
using tests::mount_small_disk;
using tests::write_file;

void write_records(FileWriter& file, ThreadWriter& thread, std::uint64_t records) {
  for (std::uint64_t i = 0; i < records; ++i) {
    payload::Collective payload{};
    payload.count = i;
    OpenRecord open = thread.open<Call::ncclAllReduce>(file, payload, next_tick());
    ThreadWriter::close(file, open, next_tick());
  }
}

std::uint64_t health(FileWriter& file, Health counter) {
  return file.header().health[static_cast<std::size_t>(counter)];
}

// 0 if the file holds a prefix of the records and the rest is counted as lost; else the line that failed.
int check_loss(FileWriter& file, std::uint64_t written) {
  auto trace = TraceFile::open(file.path());
  if (!trace || !trace->damage().empty()) return __LINE__;
  std::vector<Record> records = all_records(*trace);
  for (std::uint64_t i = 0; i < records.size(); ++i)
    if (count_of(records[i]) != i || !records[i].end) return __LINE__;
  if (records.empty() || records.size() + health(file, Health::kept_records_lost) != written) return __LINE__;
  // The guest must not pay for a try at every record.
  if (health(file, Health::chunk_open_failed) > 20) return __LINE__;
  return 0;
}

TEST(DiskFull, FileSizeLimitSendsNoSignal) {
  TemporaryFolder folder;
  EXPECT_EQ(exit_code_of([&folder] {
              rlimit limit{100'000, 100'000};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return __LINE__;
              FileWriter file{};
              ThreadWriter thread{};
              if (!file.open(folder.path().c_str(), test_identity(), test_clock(), 1 << 20, false))
                return __LINE__;
              write_records(file, thread, 50'000);
              return check_loss(file, 50'000);
            }),
            0);
}

TEST(DiskFull, LimitBelowTheHeaderLeavesNoFile) {
  TemporaryFolder folder;
  EXPECT_EQ(exit_code_of([&folder] {
              rlimit limit{100, 100};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return __LINE__;
              FileWriter file{};
              if (file.open(folder.path().c_str(), test_identity(), test_clock(), 1 << 20, false))
                return __LINE__;
              return file.refusal() == EFBIG ? 0 : __LINE__;
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

int fill_small_disk(const std::filesystem::path& folder) {
  if (!mount_small_disk(folder, "size=256k")) return kNotAllowed;
  FileWriter file{};
  ThreadWriter thread{};
  if (!file.open(folder.c_str(), test_identity(), test_clock(), 1 << 20, false)) return __LINE__;
  write_records(file, thread, 50'000);
  return check_loss(file, 50'000);
}

TEST(DiskFull, JobGoesOnAndLossIsCounted) {
  TemporaryFolder folder;
  int code = exit_code_of([&folder] { return fill_small_disk(folder.path()); });
  if (code == kNotAllowed) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(code, 0);
}

int fill_and_free_small_disk(const std::filesystem::path& folder) {
  if (!mount_small_disk(folder, "size=512k")) return kNotAllowed;
  std::filesystem::path ballast = folder / "ballast";
  write_file(ballast.c_str(), std::string(384 * 1024, 'x'));
  FileWriter file{};
  ThreadWriter thread{};
  if (!file.open(folder.c_str(), test_identity(), test_clock(), 1 << 20, false)) return __LINE__;
  write_records(file, thread, 2'000);
  if (!health(file, Health::kept_records_lost)) return __LINE__;
  std::filesystem::remove(ballast);
  std::uint64_t lost = health(file, Health::kept_records_lost);
  write_records(file, thread, 2'000);
  std::uint64_t lost_afterwards = health(file, Health::kept_records_lost) - lost;
  return lost_afterwards < 2'000 ? 0 : __LINE__;
}

// What is punched out of a trace for want of room must not be taken from the disk again by who reads it.
TEST(DiskFull, ReadingTakesNoRoom) {
  Recording recording;
  recording.close(recording.open_kept(recording.thread(), 1));
  recording.file().header().ended = 1;
  const std::string copy = "/dev/shm/ddpscope-test-holes." + std::to_string(getpid());
  std::filesystem::copy_file(recording.file().path(), copy);
  std::filesystem::resize_file(copy, std::filesystem::file_size(copy) + (1 << 20));
  auto blocks = [&copy] {
    struct stat status {};
    EXPECT_EQ(stat(copy.c_str(), &status), 0);
    return status.st_blocks;
  };
  auto before = blocks();
  auto trace = TraceFile::open(copy);
  ASSERT_TRUE(trace);
  EXPECT_EQ(all_records(*trace).size(), 1u);
  EXPECT_EQ(blocks(), before);
  std::filesystem::remove(copy);
}

TEST(DiskFull, RecordingGoesOnWhenThereIsRoomAgain) {
  TemporaryFolder folder;
  int code = exit_code_of([&folder] { return fill_and_free_small_disk(folder.path()); });
  if (code == kNotAllowed) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace ddpscope::trace
