// Bad inputs: one sentence each, and nothing that is sound is lost.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::reading {
namespace {

namespace fs = std::filesystem;
using tests::Recorded;

constexpr const char* kTwoRanks = R"(
process a pid=10 rank=0 world=2
process b pid=11 rank=1 world=2
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
)";

fs::path file_of(const Recorded& trace, std::int32_t pid) {
  for (const auto& entry : fs::directory_iterator(trace.folder()))
    if (entry.path().filename().string().find("." + std::to_string(pid) + ".") != std::string::npos)
      return entry.path();
  ADD_FAILURE() << "no file of process " << pid;
  return {};
}

void overwrite(const fs::path& file, std::streamoff offset, const std::string& bytes) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(offset);
  out << bytes;
}

TEST(Reading, AFolderThatIsNotThere) {
  reading::Silent progress;
  auto reading = read_trace("/nonexistent/folder", progress);
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().where, "/nonexistent/folder");
}

TEST(Reading, AFolderWithoutTraces) {
  Recorded empty;
  std::ofstream(empty.folder() / "notes.md") << "not a trace";
  auto reading = empty.read();
  ASSERT_FALSE(reading.ok());
  EXPECT_FALSE(reading.error().hint.empty());
}

TEST(Reading, AForeignFileBesideTwoGoodOnes) {
  Recorded trace(kTwoRanks);
  std::ofstream(trace.folder() / "other.ddps") << std::string(8192, 'x');
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.processes.size(), 2u);
  ASSERT_EQ(reading->errors.size(), 1u);
  EXPECT_NE(reading->errors[0].where.find("other.ddps"), std::string::npos);
}

TEST(Reading, ANewerVersionIsRefusedPolitely) {
  Recorded trace(kTwoRanks);
  overwrite(file_of(trace, 11), 8, std::string("\x63\0\0\0", 4));  // FileHeader::version
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->errors.size(), 1u);
  EXPECT_NE(reading->errors[0].what.find("version 99"), std::string::npos);
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{0});
  EXPECT_EQ(reading->job.world_size, 2);
}

TEST(Reading, ATruncatedFileIsReadAsFarAsItGoes) {
  Recorded trace(kTwoRanks);
  fs::resize_file(file_of(trace, 11), fs::file_size(file_of(trace, 11)) - 1000);
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.processes.size(), 2u);
  ASSERT_EQ(reading->errors.size(), 1u);
  EXPECT_NE(reading->errors[0].what.find("cut off"), std::string::npos);
}

TEST(Reading, OneFileByItself) {
  Recorded trace(kTwoRanks);
  reading::Silent progress;
  auto reading = read_trace(file_of(trace, 10), progress);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{0});
}

// `run` has number 9 and saw process 11 end at 3 s; 10 wrote its own exit, 12 was not watched.
constexpr const char* kWatched = R"(
process a pid=10 rank=0 world=3 until=2
process b pid=11 rank=1 world=3
process c pid=12 rank=2 world=3
process run pid=9
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=3
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=3
c 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=2 size=3
run 0.05 +5.95 job_watched pid=9 status=137
run 3 +0 process_ended pid=11 start_time=100000
run 4 +0 process_ended pid=12 start_time=99
)";

TEST(Reading, ProcessesEndWhenRunSawIt) {
  auto reading = Recorded(kWatched).read();
  ASSERT_TRUE(reading.ok());
  alignment::align(reading->job);
  std::map<std::int32_t, std::int64_t> last_ns;
  for (const model::Process& process : reading->job.processes)
    last_ns[process.header().pid] = process.last_ns;
  ASSERT_EQ(last_ns.size(), 3u) << "run itself is no process of the job";
  EXPECT_NEAR(static_cast<double>(last_ns[11]), 3e9, 1e6);
  EXPECT_NEAR(static_cast<double>(last_ns[12]), 6e9, 1e6)
      << "what another process of that number did counts for nothing";
  EXPECT_EQ(reading->job.duration_ns, last_ns[12]);
}

TEST(Reading, WhatOutlivesItsLauncherHasNotEnded) {
  auto reading =
      Recorded(std::string(kWatched) + "run 5.95 +0 process_outlived pid=12 start_time=100000\n").read();
  ASSERT_TRUE(reading.ok());
  for (const model::Process& process : reading->job.processes)
    EXPECT_EQ(process.has_ended(), process.header().pid != 12) << process.header().pid;
}

// SIGTERM for the job at 2 s; before, the launcher had killed process 11; 12 sends itself a signal and is
// told with the others.
constexpr const char* kTold = R"(
process launcher pid=8 until=5
process a pid=10 rank=0 world=3 parent=launcher DDPSCOPE_RUN=x until=5
process b pid=11 rank=1 world=3 parent=launcher DDPSCOPE_RUN=x until=5
process c pid=12 rank=2 world=3 parent=launcher DDPSCOPE_RUN=x until=5
process run pid=9 DDPSCOPE_RUN=x
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=3
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=3
c 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=2 size=3
launcher 0.9 +0.1 kill pid=10 status=0
launcher 1 +0.1 kill pid=11 status=15
c 1.5 +0.1 kill pid=12 status=15
run 0.05 +5.95 job_watched pid=9 status=143
run 1.9 +0 job_told pid=1 status=10
run 2 +0 job_told pid=1 status=15
run 3 +0 job_told pid=1 status=2
)";

TEST(Reading, ProcessesAreToldToEndByRunAndByEachOther) {
  auto reading = Recorded(kTold).read();
  ASSERT_TRUE(reading.ok());
  alignment::align(reading->job);
  std::map<std::int32_t, double> told;
  for (std::uint32_t i = 0; i < reading->job.processes.size(); ++i)
    told[reading->job.processes[i].header().pid] = static_cast<double>(reading->job.told_ns(i));
  ASSERT_EQ(told.size(), 4u);
  EXPECT_NEAR(told[10], 2e9, 1e6) << "SIGUSR1 and a look whether it is alive end nothing";
  EXPECT_NEAR(told[11], 1e9, 1e6);
  EXPECT_NEAR(told[12], 2e9, 1e6) << "what it sends itself is its own decision";
  EXPECT_EQ(told[8], static_cast<double>(std::numeric_limits<std::int64_t>::max())) << "of no run";
}

}  // namespace
}  // namespace ddpscope::reading
