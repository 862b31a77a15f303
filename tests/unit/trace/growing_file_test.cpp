// Files that are read while their process writes them.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/trace/recording.h"
#include "trace/write/identity.h"

namespace ddpscope::trace {
namespace {

void write_records(Recording& recording) {
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    payload::FileOpen payload{};
    payload.path = recording.thread().intern(recording.file(), ("path " + std::to_string(i)).c_str());
    recording.close(recording.thread().open<Call::open>(recording.file(), payload, next_tick()));
  }
}

class GrowingFile : public testing::TestWithParam<Extent> {
 protected:
  // How often it was read until the other process was done with it. True of all: nothing was damaged.
  void read_while_written(Recording& recording) {
    pid_t child = fork();
    if (child == 0) {
      write_records(recording);
      _exit(0);
    }
    std::filesystem::path path;
    for (const auto& entry : std::filesystem::directory_iterator(recording.folder())) path = entry.path();
    std::size_t reads = 0, records = 0;
    for (int status = 0; waitpid(child, &status, WNOHANG) == 0; ++reads) {
      auto trace = TraceFile::open(path, GetParam());
      ASSERT_TRUE(trace);
      for (const std::string& sentence : trace->damage()) ADD_FAILURE() << sentence;
      records = std::max<std::size_t>(records, trace->count({Operation::kOpen}));
    }
    EXPECT_GT(reads, 0u);
    EXPECT_GT(records, 0u);
  }
};

TEST_P(GrowingFile, IsNotDamaged) {
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    Recording recording;
    read_while_written(recording);
  }
}

// One thread has called exit(), the others go on until they are ended.
TEST_P(GrowingFile, OfAProcessThatEndsIsNotDamaged) {
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    Recording recording;
    recording.close(recording.open_kept(recording.thread(), 1));
    recording.file().header().pid = getpid();  // it is seen to live
    recording.file().header().start_time = start_time_of(getpid());
    recording.file().header().ended = 1;
    read_while_written(recording);
  }
}

INSTANTIATE_TEST_SUITE_P(Read, GrowingFile, testing::Values(Extent::kAll, Extent::kLatest),
                         [](const auto& of) { return of.param == Extent::kAll ? "whole" : "latest"; });

}  // namespace
}  // namespace ddpscope::trace
