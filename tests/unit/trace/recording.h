// A trace file of a made-up process in a folder of its own, to be written and read back in a test.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "trace/read/trace_file.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::trace {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Ticks that only go on when they are asked for; one clock for all recordings of a test program.
std::uint64_t next_tick();
Clock test_clock();

Identity test_identity();

class Recording {
 public:
  explicit Recording(std::uint64_t ring_bytes = kDefaultRingBytes);

  FileWriter& file() { return *file_; }
  ThreadWriter& thread() { return thread_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  // A kept and a bulk call, told apart by a number.
  OpenRecord open_kept(ThreadWriter& thread, std::uint64_t count);
  OpenRecord open_bulk(ThreadWriter& thread, std::uint64_t bytes);
  void close(const OpenRecord& open) { ThreadWriter::close(*file_, open, next_tick()); }

  std::uint64_t health(Health counter) const {
    return file_->header().health[static_cast<std::size_t>(counter)];
  }
  TraceFile read() const;  // what a reader finds at this moment

 private:
  TemporaryFolder folder_;
  std::unique_ptr<FileWriter> file_;
  ThreadWriter thread_;
};

// Runs `record` in a child process, and kills it so long after it has said through the descriptor that it
// gets (a byte) that it is under way. On a busy machine that may be late.
template <class Record>
void kill_in_the_midst(useconds_t delay_us, Record&& record) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    record(ready[1]);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  usleep(delay_us);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
}

// All records of a file, in the order of their chunks.
std::vector<Record> all_records(const TraceFile& trace);

inline std::uint64_t count_of(const Record& record) { return payload_of<payload::Collective>(record).count; }
inline std::uint64_t bytes_of(const Record& record) { return payload_of<payload::Copy>(record).bytes; }

}  // namespace ddpscope::trace
