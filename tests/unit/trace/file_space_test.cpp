// Room for records: reserved, zero, and no fault when it is written to.
#include "trace/write/file_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

namespace ddpscope::trace {
namespace {

constexpr std::size_t kPage = 4096;

long faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

class FileSpace : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string name = std::string(GetParam()) + "/file-space.XXXXXX";
    file_ = mkstemp(name.data());
    ASSERT_GE(file_, 0) << name;
    unlink(name.c_str());
  }
  void TearDown() override { close(file_); }

  volatile char* map_next(std::size_t bytes) {
    int error = 0;
    void* space = map_new_space(file_, offset_, bytes, fault_around_, error);
    EXPECT_EQ(space == nullptr, error != 0);
    offset_ += bytes;
    return static_cast<volatile char*>(space);
  }

  long faults_of_writing(std::size_t pages) {
    volatile char* space = map_next(pages * kPage);
    if (!space) return -1;
    long before = faults_of_this_thread();
    for (std::size_t page = 0; page < pages; ++page) space[page * kPage] = 1;
    return faults_of_this_thread() - before;
  }

  int file_ = -1;
  std::uint64_t offset_ = 0;
  std::atomic<FaultAround> fault_around_{FaultAround::kUnknown};
};

TEST_P(FileSpace, IsReservedZeroAndShared) {
  volatile char* space = map_next(64 * 1024);
  ASSERT_NE(space, nullptr);
  std::vector<char> content(64 * 1024, 'x');
  ASSERT_EQ(pread(file_, content.data(), content.size(), 0), 64 * 1024);
  EXPECT_EQ(content, std::vector<char>(64 * 1024, 0));
  space[5 * kPage] = 7;
  ASSERT_EQ(pread(file_, content.data(), 1, 5 * kPage), 1);
  EXPECT_EQ(content[0], 7);
}

INSTANTIATE_TEST_SUITE_P(Places, FileSpace, testing::Values("/dev/shm", "."));

// Not on a disk: there the kernel protects a page again when it writes it back.
using FileSpaceInMemory = FileSpace;

// The first large piece finds out what a fault maps, the later ones rely on it; they lie at odd places.
TEST_P(FileSpaceInMemory, IsWrittenToWithoutAFault) {
  for (std::size_t pages : {1, 63, 64, 13, 64, 7, 64})
    EXPECT_EQ(faults_of_writing(pages), 0) << pages << " pages";
}

// Small pieces one below the other: some reach over the end of a page table, which is 2 MiB long.
TEST_P(FileSpaceInMemory, IsWrittenToWithoutAFaultInTwoPageTables) {
  EXPECT_EQ(faults_of_writing(64), 0);
  for (int piece = 0; piece < 200; ++piece) EXPECT_EQ(faults_of_writing(13), 0) << "piece " << piece;
}

INSTANTIATE_TEST_SUITE_P(Places, FileSpaceInMemory, testing::Values("/dev/shm"));

}  // namespace
}  // namespace ddpscope::trace
