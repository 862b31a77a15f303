// Bad inputs: one sentence each, and nothing that is sound is lost.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/collector/recorded.h"

namespace ddpscope::reading {
namespace {

namespace fs = std::filesystem;
using tests::Recorded;
using tests::Silent;

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
  Silent progress;
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
  Silent progress;
  auto reading = read_trace(file_of(trace, 10), progress);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{0});
}

}  // namespace
}  // namespace ddpscope::reading
