// A file that loses pages while it is mapped.
#include "trace/read/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

namespace ddpscope::trace {
namespace {

class TheMappedFile : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 3 * 4096;

  void SetUp() override {
    char name[] = "/tmp/ddpscope-mapped-XXXXXX";
    fd_ = ::mkstemp(name);
    ASSERT_GE(fd_, 0);
    ::unlink(name);
    std::vector<unsigned char> content(kBytes, 7);
    ASSERT_EQ(::write(fd_, content.data(), kBytes), static_cast<ssize_t>(kBytes));
  }
  void TearDown() override { ::close(fd_); }

  int fd_ = -1;
};

TEST_F(TheMappedFile, IsReadInPlace) {
  MappedFile file = MappedFile::of(fd_, kBytes);
  ASSERT_EQ(file.bytes().size(), kBytes);
  EXPECT_EQ(file.bytes()[0], 7);
  EXPECT_EQ(file.bytes()[kBytes - 1], 7);
  EXPECT_FALSE(file.lost());
}

TEST_F(TheMappedFile, ReadsZerosWhereItWasCutOff) {
  MappedFile file = MappedFile::of(fd_, kBytes);
  MappedFile moved = std::move(file);
  ASSERT_EQ(::ftruncate(fd_, 4096), 0);
  EXPECT_EQ(moved.bytes()[4095], 7);
  EXPECT_FALSE(moved.lost());
  EXPECT_EQ(moved.bytes()[kBytes - 1], 0);
  EXPECT_EQ(moved.bytes()[4096], 0);
  EXPECT_TRUE(moved.lost());
}

TEST_F(TheMappedFile, IsEmptyWhereNothingCanBeMapped) {
  EXPECT_TRUE(MappedFile::of(-1, kBytes).bytes().empty());
  EXPECT_TRUE(MappedFile::of(fd_, 0).bytes().empty());
}

TEST_F(TheMappedFile, LeavesOtherMemoryToOthers) {
  EXPECT_EXIT(
      {
        MappedFile file = MappedFile::of(fd_, kBytes);
        ::raise(SIGBUS);
        ::raise(SIGBUS);  // the first one gave the signal back
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace ddpscope::trace
